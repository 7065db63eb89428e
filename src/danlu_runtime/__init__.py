"""In the child: everything here runs beside the user's own script, in its process."""

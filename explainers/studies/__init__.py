"""What measures whole sets once and writes documents. Nothing of the library or the app imports a study."""

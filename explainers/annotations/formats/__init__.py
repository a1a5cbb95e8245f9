"""Files of other tools, ERASER, doccano, Label Studio and tables: read into items and annotations, and written."""

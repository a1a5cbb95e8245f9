#!/bin/sh
# Exit code 0: the port answers, and the app has lately said that its workers move.
set -e
python -c 'import os, urllib.request as u; u.urlopen("http://127.0.0.1:%s/_stcore/health" % os.environ["STREAMLIT_SERVER_PORT"], timeout=5)'
python -m app.operations.status

"""Which messages of a browser reach Streamlit. The others serve its developers: they clear the caches of all sessions,
write files, tell where the code comes from, or stop the server."""

from streamlit.proto.BackMsg_pb2 import BackMsg

ALLOWED = frozenset({"rerun_script", "stop_script", "file_urls_request", "app_heartbeat", "backend_operation_request"})
ALLOWED_OPERATIONS = frozenset({"deferred_file", "dataframe_chunk"})


def refused(frame: bytes) -> str:
    """The kind of the message in a frame that must not be passed on; empty if it may.

    Raises `ValueError` if the frame holds no message.
    """
    message = BackMsg()
    try:
        message.ParseFromString(frame)
    except Exception as error:  # protobuf's own, without types
        raise ValueError("not a message of Streamlit") from error
    kind = message.WhichOneof("type")
    if kind == "backend_operation_request":
        operation = message.backend_operation_request.WhichOneof("payload")
        return "" if operation in ALLOWED_OPERATIONS else f"{kind} {operation}"
    return "" if kind in ALLOWED else str(kind)

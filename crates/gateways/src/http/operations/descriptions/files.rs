//! What the operations on files do.

pub const DESCRIPTIONS: [(&str, &str); 8] = [
    (
        "store_file",
        "The body is the file. It may be as large as any body; send a larger file as an upload. \
         The file is kept for a day, and as long as a message or a package refers to it.",
    ),
    (
        "list_files",
        "A caller that is no operator sees the files that it stored and that nothing of its own \
         refers to yet. A page may have fewer items than its limit.",
    ),
    (
        "download_file",
        "For callers that stored the file and have not used it yet, and for those that may read \
         one of the newest 64 messages and packages that refer to it. For everyone else there is \
         no such file. Images are shown, everything else is a download.",
    ),
    (
        "begin_upload",
        "Send the pieces next, then finish the upload. An upload outlives a lost connection and \
         a restart of the server. It is dropped a day after its last piece.",
    ),
    ("show_upload", "Only the caller that began an upload sees it."),
    (
        "append_to_upload",
        "The body is the piece that begins at `offset`. It is durable when the answer comes. \
         `revision_outdated` has the offset at which the upload goes on.",
    ),
    (
        "finish_upload",
        "Reads and hashes the bytes. If `file` was given and the bytes are others, the answer is \
         `hash_mismatch`. A retry gets the same answer.",
    ),
    ("abandon_upload", "Makes room for another upload."),
];

# The functions for running a page. One shell runs a page's blocks in order.
set -Eeuo pipefail

# How long a reader watches a stream before they press Ctrl-C.
readonly LISTEN_SECONDS=5
readonly WAIT_SECONDS=60

server=
declare -A keyboards

begin() {
    # Clients first: one whose server is gone writes that into the output of its block.
    trap 'kill $(jobs -p) $server 2>/dev/null || true' EXIT
    # The innermost command is the first to say that it failed.
    trap '[[ -s "$STEPS/failed" ]] || echo "$BASH_COMMAND" >"$STEPS/failed"' ERR
}

# Runs block $1 and keeps its output. It must succeed, or fail if $2 says so.
run() {
    local number=$1 end=$2
    rm --force "$STEPS/failed"
    ln --symbolic failed "$STEPS/$number.wrong"
    if [[ "$end" == well ]]; then
        . "$STEPS/$number.sh" >"$STEPS/$number.out" 2>&1
    elif . "$STEPS/$number.sh" >"$STEPS/$number.out" 2>&1; then
        echo "succeeded, and should not" >"$STEPS/failed"
        exit 1
    fi
    rm "$STEPS/$number.wrong"
}

# A server keeps running, as in a terminal of its own, and replaces the one before. A command that
# runs until Ctrl-C is interrupted.
tasuki() {
    case "${1-} ${2-}" in
        "serve "*) serve "$@" ;;
        "handoff watch" | "aaep listen" | "conversation tail") interrupted tasuki "$@" ;;
        *) command tasuki "$@" ;;
    esac
}

serve() {
    if [[ -n "$server" ]]; then
        kill "$server"
        while kill -0 "$server" 2>/dev/null; do
            tail --pid "$server" --follow /dev/null
        done
    fi
    command tasuki "$@" >"$STEPS/server.log" 2>&1 &
    server=$!
    # It is in another terminal: the first job of this one is the reader's own.
    disown
    shows "$STEPS/server.log" 'ready url='
    # Its messages to people, without its log.
    grep --invert-match --extended-regexp '^[0-9]{4}-[0-9]{2}-[0-9]{2}T' "$STEPS/server.log" || true
}

# A release build takes minutes and gives the same program.
cargo() {
    [[ "$1 $2 $3" == "run --release --" ]]
    tasuki "${@:4}"
}

curl() {
    case " $* " in
        *" -N "* | *" -sN "* | *" --no-buffer "*) interrupted curl "$@" ;;
        *) command curl "$@" ;;
    esac
}

interrupted() {
    timeout --foreground --signal INT "$LISTEN_SECONDS" "$@" || [[ $? == 124 ]]
}

# Waits until file $1 shows $2.
shows() {
    local seen
    exec {seen}< <(timeout "$WAIT_SECONDS" tail --pid $$ --follow=name --retry --lines +1 "$1" 2>/dev/null)
    grep --quiet --max-count 1 --fixed-strings -- "$2" <&"$seen"
    exec {seen}<&-
}

# Listens while the page runs, and sends empty answers. Each posted body is a line in file $1, and
# its head is in $1.head. Sets $receiver to its address.
receive() {
    python3 -u -c '
import http.server, sys
class Taker(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        told = [name for name in self.headers if name.startswith(("content-type", "webhook-"))]
        with open(sys.argv[1] + ".head", "a") as file:
            lines = [self.requestline] + [f"{name}: {self.headers[name]}" for name in sorted(told)]
            file.write("\n".join(lines) + "\n\n")
        with open(sys.argv[1], "ab") as file:
            file.write(body + b"\n")
        self.send_response(204)
        self.end_headers()
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Taker)
print(server.server_port, "is the port")
server.serve_forever()' "$1" >"$1.port" &
    touch "$1"
    shows "$1.port" "is the port"
    receiver="http://127.0.0.1:$(cut --delimiter ' ' --fields 1 "$1.port")"
}

# A person at a terminal, named $1: what they see and type is in $1.terminal.
terminal() {
    mkfifo "$1.keyboard"
    "${@:2}" <"$1.keyboard" >>"$1.terminal" 2>&1 &
    exec {keyboard}>"$1.keyboard"
    keyboards[$1]=$keyboard
}

types() {
    echo "$2" >>"$1.terminal"
    echo "$2" >&"${keyboards[$1]}"
}

sees() {
    shows "$1.terminal" "$2"
}

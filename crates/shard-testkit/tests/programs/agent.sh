#!/bin/sh
# Greets, asks at every prompt, and tells what was answered.
[ "$1" = agent ] || { echo "args: $*"; cat; echo oops >&2; exit 3; }
echo '{"type":"hello"}'
echo '{"type":"sync","cwd":"'"$3"'"}'
while read -r line; do
  id=$(echo "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
  case "$line" in
    *'"type":"prompt"'*)
      echo '{"type":"response","command":"prompt","success":true,"id":"'$id'"}'
      echo '{"type":"permission_request","request_id":"r1"}' ;;
    *'"request_id":"r1"'*)
      answer=$(echo "$line" | sed 's/.*"decision":"\([^"]*\)".*/\1/')
      echo '{"type":"tool_result","content":{"kind":"text","text":"'$answer'"}}'
      echo '{"type":"message_complete","message":{"role":"assistant","content":[{"type":"text","text":"Done"}]}}'
      echo '{"type":"turn_end","reason":"done"}' ;;
    *'"type":"status"'*)
      echo '{"type":"response","command":"status","success":false,"error":{"code":"NOT_FOUND"},"id":"'$id'"}' ;;
  esac
done
exit 7

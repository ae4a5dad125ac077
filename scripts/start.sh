#!/bin/sh
# `npm start`. Where node_modules is that of package-lock.json, the installed Bun starts the server at once; otherwise Node
# installs first. Node alone takes a tenth of a second to find that out.
case $0 in */*) cd "${0%/*}/.." || exit 1 ;; *) cd .. || exit 1 ;; esac
bun=node_modules/bun/bin/bun.exe
marker=node_modules/.installed-lock
isCurrent=
# The rules of `isCurrent` in install.mjs. A missing `sha256sum` leaves the answer to Node.
if [ -f "$marker" ]; then
  read -r installed <"$marker"
  hash=$(sha256sum package-lock.json 2>/dev/null)
  [ -n "$installed" ] && [ "${hash%% *}" = "$installed" ] && isCurrent=1
elif [ node_modules/.package-lock.json -nt package-lock.json ]; then
  isCurrent=1
fi
[ -n "$isCurrent" ] && [ -x "$bun" ] && exec "$bun" --no-env-file server/src/start.ts
exec node scripts/run.mjs server/src/start.ts

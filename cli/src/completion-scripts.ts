export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/**
 * The scripts only ask `svc __complete`, so that they stay right when commands are added. `svc` is looked up when
 * completion is asked for, through the word that was typed.
 */
export const completionScripts: Readonly<Record<Shell, string>> = {
  bash: `# svc completion for bash: eval "$(svc completion bash)"
_svc_complete() {
  local line current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r line; do
    line="\${line%%$'\\t'*}"
    # bash splits at "=": what stands before it is on the line already.
    if [[ "$current" == "=" || "\${COMP_WORDS[COMP_CWORD-1]}" == "=" ]]; then line="\${line#*=}"; fi
    COMPREPLY+=("$line")
  done < <("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _svc_complete svc
`,
  zsh: `#compdef svc
# svc completion for zsh: eval "$(svc completion zsh)"
_svc_complete() {
  local line
  local -a found
  while IFS= read -r line; do
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done < <("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#found} )); then _describe 'svc' found; else _files; fi
}
compdef _svc_complete svc
`,
  fish: `# svc completion for fish: svc completion fish | source
function __svc_complete
  set -l typed (commandline -opc)
  set -l current (commandline -ct)
  $typed[1] __complete $typed[2..-1] "$current" 2>/dev/null
end
complete -c svc -f -a '(__svc_complete)'
`,
};

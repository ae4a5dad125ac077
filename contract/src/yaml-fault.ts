export function yamlFault(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'DUPLICATE_KEY') return 'a key is given twice';
  if (code === 'MULTIPLE_DOCS') return 'contains more than one document';
  if (code === 'NON_STRING_KEY') return 'a key must be a text';
  if (code === 'RESOURCE_EXHAUSTION' || cause instanceof RangeError) return 'is nested too deeply';
  const message = (cause instanceof Error ? cause.message : String(cause)).split('\n')[0] ?? '';
  if (message.startsWith('Excessive alias count')) return 'grows too large by its aliases';
  if (cause instanceof TypeError && message.includes('cyclic')) return 'contains itself through an alias';
  const [, alias] = /^Unresolved alias .*: (.+)$/.exec(message) ?? [];
  if (alias !== undefined) return `the alias *${alias} stands for nothing before it`;
  return message.replace(/[:.]$/, '');
}

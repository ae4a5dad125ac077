import type { Flag } from './command.ts';

/** `-o, --output <table|json|jsonl|yaml>` */
export function flagTerm(name: string, flag: Flag): string {
  const names = [
    flag.short === undefined ? '' : `-${flag.short}`,
    `--${name}`,
    ...(flag.alias ?? []).map((it) => `--${it}`),
  ];
  return [names.filter((it) => it !== '').join(', '), placeholder(flag)].filter((it) => it !== '').join(' ');
}

export function placeholder(flag: Flag): string {
  switch (flag.type) {
    case 'boolean':
      return '';
    case 'enum':
      return `<${flag.values.join('|')}>`;
    case 'list':
      return `<${flag.placeholder ?? flag.values?.join('|') ?? 'text'},...>`;
    case 'string':
      return `<${flag.placeholder ?? 'text'}>`;
    case 'integer':
    case 'duration':
    case 'time':
      return `<${flag.placeholder ?? flag.type}>`;
  }
}

/** What a flag does, with the rules that are declared about it. */
export function flagText(flag: Flag): string {
  const dashed = (names: readonly string[]) => names.map((name) => `--${name}`).join(', ');
  const rules = [
    flag.retired === undefined ? '' : `retired and ignored: ${flag.retired}`,
    flag.required ? 'required' : '',
    flag.requiredUnless ? `required unless ${dashed(flag.requiredUnless)}` : '',
    flag.requires ? `with ${dashed(flag.requires)}` : '',
    flag.excludes ? `not with ${dashed(flag.excludes)}` : '',
    flag.winsOver ? `wins over ${dashed(flag.winsOver)}` : '',
    bounds(flag),
    flag.default === undefined ? '' : `default ${flag.default}`,
    flag.env === undefined ? '' : `env ${flag.env}`,
    flag.repeated || flag.type === 'list' ? 'may be repeated' : '',
  ].filter((rule) => rule !== '');
  return rules.length === 0 ? flag.summary : `${flag.summary} (${rules.join('; ')})`;
}

function bounds(flag: Flag): string {
  if (flag.type !== 'integer' && flag.type !== 'duration') return '';
  if (flag.min !== undefined && flag.max !== undefined) return `${flag.min} to ${flag.max}`;
  if (flag.min !== undefined) return `at least ${flag.min}`;
  return flag.max === undefined ? '' : `at most ${flag.max}`;
}

import type { Random } from './rows-random.ts';

/** Stands in every value: by it one is found again, wherever it went. */
export const mark = 'zqx';

/**
 * Names of repositories, owners, branches, refs and paths as somebody would choose them who wants a program to be run,
 * an option to be taken or a file elsewhere to be touched. What would be run writes into the folder.
 */
export function hostileNames(random: Random, { count, folder }: { count: number; folder: string }): string[] {
  return random.times(count, (at) => hostileName(random, `${mark}${at}`, `${folder}/${mark}${at}`));
}

/** Those that nothing is left to chance with. */
export function worstNames(folder: string): string[] {
  const file = `${folder}/${mark}`;
  return [
    ...[`$(touch ${file})`, `--upload-pack=touch ${file}`, `${mark}\n--upload-pack=touch ${file}`],
    ...[`${mark}\0`, `${mark}\ud800`, `../${mark}`, `${mark}--exec=x`],
  ];
}

function hostileName(random: Random, own: string, file: string): string {
  const value = random.pick(kinds)(random, own, file);
  if (random.chance(0.1)) return `${value}${random.pick(ends)}`;
  if (random.chance(0.1)) return `${random.pick(begins)}${value}`;
  return value;
}

type Kind = (random: Random, own: string, file: string) => string;

const begins = [
  '-',
  '--',
  './',
  '../',
  '/',
  ' ',
  '\t',
  '\n',
  '+',
  ':',
  '@',
  '~',
  '.',
  '\u200b',
  '%2e%2e%2f',
  'refs/heads/',
];
const ends = [
  '\n',
  '\r\n',
  '\0',
  '.lock',
  '.git',
  '/',
  '/.',
  ' ',
  '\\',
  '@{0}',
  '^{}',
  '~1',
  '%00',
  ';',
  '&',
  '\ud800',
  '\u202e',
];

/** A shell's own signs around a command. */
const inShell: Kind = (random, own, file) => {
  const command = random.pick([`touch ${file}`, `touch\${IFS}${file}`, `{touch,${file}}`, `id>${file}`]);
  return random.pick([
    ...[`$(${command})`, `\`${command}\``, `${own};${command}`, `${own}|${command}`, `${own}&${command}`],
    ...[
      `${own}&&${command}`,
      `${own}\n${command}\n`,
      `';${command};'`,
      `";${command};"`,
      `${own}||${command}#`,
    ],
    ...[
      `$((${own}))$(${command})`,
      `<(${command})`,
      `${own}>${file}`,
      `\\$(${command})`,
      `'"$(${command})"'`,
    ],
    ...[`$(${command}).git`, `a$(${command})/b`, `"$(${command})`, `${own}'`, `${own}"`, `!${command}`],
  ]);
};

/** What git, tar or ssh would take for an option. */
const asOption: Kind = (random, own, file) =>
  random.pick([
    ...[`--upload-pack=touch ${file}`, `--upload-pack=touch\t${file}`, `-u${file}`, `--exec=touch ${file}`],
    ...[
      `--receive-pack=touch ${file};`,
      `-c ${own}`,
      `-ccore.sshCommand=touch ${file}`,
      `--config=alias.x=!touch ${file}`,
    ],
    ...[
      `-oProxyCommand=touch ${file}`,
      `--output=${file}`,
      `-o${file}`,
      `--template=/${own}`,
      `--git-dir=/${own}`,
    ],
    ...[
      `--work-tree=/${own}`,
      `--exec-path=/${own}`,
      `--checkpoint-action=exec=touch ${file}`,
      `--to-command=touch ${file}`,
    ],
    ...[`--`, `-`, `--end-of-options`, `--all`, `--mirror`, `--help`, `-p`, `--no-index`].map(
      (word) => `${word}${own}`,
    ),
  ]);

/** Places that git would go to by itself. */
const asRemote: Kind = (random, own, file) =>
  random.pick([
    ...[
      `ext::sh -c touch% ${file}`,
      `ext::touch ${file}`,
      `fd::7/${own}`,
      `file:///${own}`,
      `file://${file}/.git`,
    ],
    ...[
      `ssh://-oProxyCommand=touch ${file}/${own}`,
      `git@-oProxyCommand=touch ${file}:${own}`,
      `git://127.0.0.1/${own}`,
    ],
    ...[
      `https://x@127.0.0.1/${own}`,
      `http://127.0.0.1:1/${own}`,
      `http://[::1]/${own}`,
      `//127.0.0.1/${own}`,
    ],
    ...[`${own}/x@evil.test`, `${own}.evil.test/x`, `transport::${own}`, `ext::${own}`, `https:${own}/x`],
  ]);

const asRef: Kind = (random, own) =>
  random.pick([
    ...[
      `refs/heads/../../${own}`,
      `HEAD@{${own}}`,
      `@{-1}${own}`,
      `main^{/${own}}`,
      `main:../${own}`,
      `main~1${own}`,
    ],
    ...[
      `${own}.lock`,
      `main..${own}`,
      `main...${own}`,
      `:/${own}`,
      `+main:refs/heads/${own}`,
      `:refs/heads/${own}`,
    ],
    ...[
      `^${own}`,
      `${own}^0`,
      `${own}*`,
      `${own}?`,
      `${own}[0]`,
      `${own}\\x`,
      `${own}//x`,
      `${own}/.x`,
      `/${own}`,
    ],
    ...[
      `refs/remotes/${own}`,
      `FETCH_HEAD ${own}`,
      `stash@{0}${own}`,
      `${own}@{u}`,
      `@${own}`,
      `-${own}`,
      `${own}/-x`,
    ],
  ]);

const asPath: Kind = (random, own, file) =>
  random
    .pick([
      ...[
        `../../../../${own}`,
        `..`,
        `../${own}`,
        `/etc/${own}`,
        `/proc/self/root${file}`,
        `.git/hooks/${own}`,
      ],
      ...[
        `.git/config/${own}`,
        `a/../../${own}`,
        `.//${own}`,
        `C:\\${own}`,
        `..\\..\\${own}`,
        `%2e%2e%2f${own}`,
      ],
      ...[
        `..%2f..%2f${own}`,
        `%252e%252e%252f${own}`,
        `..%c0%af${own}`,
        `..;/${own}`,
        `.gitmodules/${own}`,
        `~root/${own}`,
      ],
      ...[
        `\\\\127.0.0.1\\${own}`,
        `file:${file}`,
        `${own}/..`,
        `./${own}`,
        `${own}/./x`,
        `CON/${own}`,
        `${own}::$DATA`,
      ],
    ])
    .replace(/^\.\.$/, `../${own}`);

const withSigns: Kind = (random, own, file) => {
  const sign = random.pick([
    ...[
      '\0',
      '\n',
      '\r\n',
      '\t',
      '\x1b[31m',
      '\x7f',
      '\x08',
      '\u2028',
      '\ufeff',
      '\u202e',
      '\ud800',
      '\udfff\ud800',
    ],
    ...[
      '\u0085',
      '%00',
      '%0a',
      '%0d%0aX-Bad: 1\r\n',
      '\r\nX-Bad: 1',
      '\0--upload-pack=touch',
      "\\u0000'",
      '\u00a0',
    ],
  ]);
  return random.pick([`${own}${sign}`, `${sign}${own}`, `${own}${sign}touch ${file}`, `main${sign}${own}`]);
};

const inOtherLetters: Kind = (random, own) =>
  random.pick([
    ...[
      `ｍａｉｎ${own}`,
      `﹣﹣upload-pack=${own}`,
      `‐‐exec=${own}`,
      `é${own}`,
      `e\u0301${own}`,
      `🙂${own}`,
      `İ${own}`,
      `ſ${own}`,
    ],
    ...[
      `．．／${own}`,
      `∕${own}`,
      `${own}：x`,
      `ﬀ${own}`,
      `\u0130/${own}`,
      `К${own}`,
      `ⅷ${own}`,
      `${own}；touch`,
    ],
  ]);

const long: Kind = (random, own) =>
  `${own}${random.pick(['a', '/a', '../', 'é', '$(', '%2e', '-', '.', ' ']).repeat(random.pick([90, 120, 300, 1_500]))}`;

const ofLanguages: Kind = (random, own) =>
  random.pick([
    ...[
      `__proto__${own}`,
      `constructor/${own}`,
      `{{slug}}${own}`,
      `\${process.env}${own}`,
      `%s%n${own}`,
      `' or 1=1 --${own}`,
    ],
    ...[
      `<script>${own}</script>`,
      `${own}');drop table svc.apps;--`,
      `null${own}`,
      `0x${own}`,
      `{"$ne":"${own}"}`,
      `[${own}]`,
    ],
  ]);

/** Allowed where they stand, and the more dangerous for it: these go all the way. */
const allowed: Kind = (random, own) =>
  random.pick([
    ...[
      `${own}`,
      `_${own}`,
      `.${own}`,
      `${own}.sh`,
      `${own}--upload-pack`,
      `${own}-`,
      `${own}.`,
      `${own}_x.tar`,
    ],
    ...[
      `${own}/x`,
      `${own}@x`,
      `${own}=x`,
      `${own}#x`,
      `${own}%00`,
      `${own},x`,
      `${own}+x`,
      `x${own}/y=z`,
      `${own}%2e%2e`,
    ],
  ]);

const kinds: readonly Kind[] = [
  ...[
    inShell,
    inShell,
    inShell,
    asOption,
    asOption,
    asRemote,
    asRef,
    asPath,
    withSigns,
    inOtherLetters,
    long,
  ],
  ...[ofLanguages, allowed, allowed],
];

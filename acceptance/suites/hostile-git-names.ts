import type { Random } from '../support/random.ts';

/** Marker in every value, by which the value is found wherever it went. */
export const mark = 'zqx';

/**
 * Names of repositories, owners, branches, refs and paths with which an attacker would try to run a program,
 * pass an option or write a file elsewhere. The injected commands write into the folder.
 */
export function hostileNames(random: Random, { count, folder }: { count: number; folder: string }): string[] {
  return random.times(count, (at) => hostileName(random, `${mark}${at}`, `${folder}/${mark}${at}`));
}

/** Names that every run uses. */
export function worstNames(folder: string): string[] {
  const file = `${folder}/${mark}`;
  return [
    `$(touch ${file})`,
    `--upload-pack=touch ${file}`,
    `${mark}\n--upload-pack=touch ${file}`,
    `${mark}\0`,
    `${mark}\ud800`,
    `../${mark}`,
    `${mark}--exec=x`,
  ];
}

function hostileName(random: Random, own: string, file: string): string {
  const kind = random.pick(kinds);
  const value = kind(random)
    .replace('COMMAND', () => random.pick(commands))
    .replaceAll('FILE', () => file)
    .replaceAll('OWN', () => own);
  if (random.chance(0.1)) return `${value}${random.pick(ends)}`;
  if (random.chance(0.1)) return `${random.pick(begins)}${value}`;
  return value;
}

/** Templates; OWN and FILE are replaced by the marker. */
type Kind = (random: Random) => string;

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
];
const signs = [
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
  '\u0085',
  '%00',
  '%0a',
  '%0d%0aX-Bad: 1\r\n',
  '\r\nX-Bad: 1',
  '\0--upload-pack=touch',
  "\\u0000'",
  '\u00a0',
];
// biome-ignore lint/suspicious/noTemplateCurlyInString: it is a shell's.
const commands = ['touch FILE', 'touch${IFS}FILE', '{touch,FILE}', 'id>FILE'];

/** One per line, or several separated by a wide space. */
const table =
  (lines: string): Kind =>
  (random) =>
    random.pick(lines.trim().split(/\n| {4,}/));

/** A shell's own signs around a command. */
const inShell = table(String.raw`
$(COMMAND)    ${'`COMMAND`'}    OWN;COMMAND    OWN|COMMAND    OWN&COMMAND    OWN&&COMMAND    OWN||COMMAND#
';COMMAND;'    ";COMMAND;"    $((OWN))$(COMMAND)    <(COMMAND)    OWN>FILE    \$(COMMAND)    '"$(COMMAND)"'
$(COMMAND).git    a$(COMMAND)/b    "$(COMMAND)    OWN'    OWN"    !COMMAND    OWN$(COMMAND)    {OWN,$(COMMAND)}`);

/** Values that git, tar or ssh would read as an option. */
const asOption = table(`
--upload-pack=touch FILE    --upload-pack=touch\tFILE    -uFILE    --exec=touch FILE    --receive-pack=touch FILE;
-c OWN    -ccore.sshCommand=touch FILE    --config=alias.x=!touch FILE    -oProxyCommand=touch FILE    --output=FILE
-oFILE    --template=/OWN    --git-dir=/OWN    --work-tree=/OWN    --exec-path=/OWN    --to-command=touch FILE
--checkpoint-action=exec=touch FILE    --OWN    -OWN    --end-of-optionsOWN    --allOWN    --mirrorOWN    --helpOWN`);

/** Locations that git would resolve by itself. */
const asRemote = table(`
ext::sh -c touch% FILE    ext::touch FILE    fd::7/OWN    file:///OWN    file://FILE/.git    git://127.0.0.1/OWN
ssh://-oProxyCommand=touch FILE/OWN    git@-oProxyCommand=touch FILE:OWN    https://x@127.0.0.1/OWN    https:OWN/x
http://127.0.0.1:1/OWN    http://[::1]/OWN    //127.0.0.1/OWN    OWN/x@evil.test    OWN.evil.test/x    transport::OWN`);

const asRef = table(String.raw`
refs/heads/../../OWN    HEAD@{OWN}    @{-1}OWN    main^{/OWN}    main:../OWN    main~1OWN    OWN.lock    main..OWN
main...OWN    :/OWN    +main:refs/heads/OWN    :refs/heads/OWN    ^OWN    OWN^0    OWN*    OWN?    OWN[0]    OWN\x
OWN//x    OWN/.x    /OWN    refs/remotes/OWN    FETCH_HEAD OWN    stash@{0}OWN    OWN@{u}    @OWN    -OWN    OWN/-x`);

const asPath = table(String.raw`
../../../../OWN    ../OWN    /etc/OWN    /proc/self/rootFILE    .git/hooks/OWN    .git/config/OWN    a/../../OWN
.//OWN    C:\OWN    ..\..\OWN    %2e%2e%2fOWN    ..%2f..%2fOWN    %252e%252e%252fOWN    ..%c0%afOWN    ..;/OWN
.gitmodules/OWN    ~root/OWN    \\127.0.0.1\OWN    file:FILE    OWN/..    ./OWN    OWN/./x    CON/OWN    OWN::$DATA`);

const inOtherLetters = table(`
ｍａｉｎOWN    ﹣﹣upload-pack=OWN    ‐‐exec=OWN    éOWN    e\u0301OWN    🙂OWN    İOWN    ſOWN    ．．／OWN    ∕OWN
OWN：x    ﬀOWN    \u0130/OWN    КOWN    ⅷOWN    OWN；touch    \u202eOWN`);

const ofLanguages = table(String.raw`
__proto__OWN    constructor/OWN    {{slug}}OWN    $\{process.env}OWN    %s%nOWN    ' or 1=1 --OWN    nullOWN    [OWN]
<script>OWN</script>    OWN');drop table svc.apps;--    0xOWN    {"$ne":"OWN"}    \u0000OWN    OWN\n    ../OWN\0`);

/** Valid values, which the product uses: the more dangerous ones. */
const allowed = table(`
OWN    _OWN    .OWN    OWN.sh    OWN--upload-pack    OWN-    OWN.    OWN_x.tar    OWN/x    OWN@x    OWN=x    OWN#x
OWN%00    OWN,x    OWN+x    xOWN/y=z    OWN%2e%2e`);

const withSigns: Kind = (random) => {
  const sign = random.pick(signs);
  return random.pick([`OWN${sign}`, `${sign}OWN`, `OWN${sign}touch FILE`, `main${sign}OWN`]);
};

const long: Kind = (random) => {
  const piece = random.pick(['a', '/a', '../', 'é', '$(', '%2e', '-', '.', ' ']);
  return `OWN${piece.repeat(random.pick([90, 120, 300, 1_500]))}`;
};

const kinds: readonly Kind[] = [
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
  ofLanguages,
  allowed,
  allowed,
];

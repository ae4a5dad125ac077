import { defineCommand } from '../define-command.ts';
import { type Page, pages } from '../open/pages.ts';

export default defineCommand({
  words: 'open',
  summary: 'Open an app, or a page of the console, in the browser',
  description:
    'Without words the app itself, or its page in the console where it does not run. A word names a page of the app ' +
    `(${wordsOf('app')}), of the tenant (${wordsOf('tenant')}), or console, git, staging; tables, deployments, releases and review take a name or an id ` +
    'behind them. Any other word is an app, which may stand before the words of its page; app <app> is one whose slug is such a word. The address is printed, and ' +
    'nothing is opened where standard output is no terminal or there is no browser.',
  kind: 'local',
  positionals: [
    { name: 'what', optional: true, repeated: true, summary: 'An app, or words that name a page' },
  ],
  flags: {
    app: { type: 'string', placeholder: 'app', manifest: 'app', summary: 'App id or slug' },
    logs: { type: 'boolean', excludes: ['metrics'], summary: 'What the app writes, in the console' },
    metrics: { type: 'boolean', summary: 'What the app is asked and uses, in the console' },
    'no-browser': { type: 'boolean', summary: 'Only print the address' },
  },
  output: {
    type: 'object',
    properties: {
      url: { type: 'string' },
      opened: { type: 'boolean', description: 'Whether a browser was started with it.' },
    },
    required: ['url', 'opened'],
  },
  run: async (ctx, { flags, positionals }) => {
    const [{ readTarget }, { addressOf }, { webAddress }] = await Promise.all([
      import('../open/read-target.ts'),
      import('../open/address-of.ts'),
      import('../open/web-address.ts'),
    ]);
    const page = flags.logs ? 'logs' : flags.metrics ? 'metrics' : undefined;
    const target = readTarget({ what: positionals.what, app: flags.app, page });
    const url = webAddress(await addressOf(ctx, target));
    const isWanted = !flags['no-browser'] && (await ctx.io.isTerminal('stdout'));
    const opened = isWanted && (await ctx.io.openBrowser(url));
    if (opened) ctx.say('Your browser should show that page now.');
    return { value: { url, opened }, text: () => `${url}\n` };
  },
  examples: [
    { line: 'svc open --app pet-shop', does: 'The app itself' },
    { line: 'svc open pet-shop --logs', does: 'What it writes, in the console' },
    { line: 'svc open pet-shop tables pets', does: 'The rows of one of its tables' },
    { line: 'svc open reviews', does: 'What waits to be reviewed' },
    { line: 'svc open console --no-browser', does: 'The address of the console' },
  ],
});

/** Each page by the first of its words. */
function wordsOf(whose: Page['of']): string {
  const firsts = new Map(
    Object.entries(pages)
      .toReversed()
      .map(([word, page]) => [page, word]),
  );
  return [...firsts]
    .toReversed()
    .filter(([{ of }]) => of === whose)
    .map(([, word]) => word)
    .join(', ');
}

import { defineCommand, objectSchema } from '../command.ts';
import { type Page, pages } from '../open/target.ts';

export const openCommand = defineCommand({
  words: 'open',
  summary: 'Open an app, or a page of the console, in the browser',
  description:
    'Without an argument it opens the app, or its page in the console if it is not running. A word names a page of the app ' +
    `(${wordsOf('app')}), a page of the tenant (${wordsOf('tenant')}), or console, git, staging; tables, deployments, ` +
    'releases and review may be followed by a name or an id. Any other word is an app, and may precede the words of ' +
    'its page; app <app> names an app whose slug is such a word. The URL is printed, and opened only if standard ' +
    'output is a terminal and there is a browser.',
  kind: 'local',
  positionals: [{ name: 'what', optional: true, repeated: true, summary: 'An app, or the words of a page' }],
  flags: {
    app: { type: 'string', placeholder: 'app', manifest: 'app', summary: 'App id or slug' },
    logs: { type: 'boolean', excludes: ['metrics'], summary: "Open the app's log in the console" },
    metrics: { type: 'boolean', summary: "Open the app's metrics in the console" },
    'no-browser': { type: 'boolean', summary: 'Only print the URL' },
  },
  output: objectSchema({
    url: 'string',
    opened: { type: 'boolean', description: 'Whether a browser was opened.' },
  }),
  run: async (ctx, { flags, positionals }) => {
    const [{ parseTarget }, { requireWebUrl, resolveUrl }] = await Promise.all([
      import('../open/target.ts'),
      import('../open/address.ts'),
    ]);
    const page = flags.logs ? 'logs' : flags.metrics ? 'metrics' : undefined;
    const target = parseTarget({ what: positionals.what, app: flags.app, page });
    const url = requireWebUrl(await resolveUrl(ctx, target));
    const canOpen = !flags['no-browser'] && (await ctx.io.isTerminal('stdout'));
    const opened = canOpen && (await ctx.io.openBrowser(url));
    if (opened) ctx.say('The page opens in your browser.');
    return { value: { url, opened }, text: () => `${url}\n` };
  },
  examples: {
    '--app pet-shop': 'Open the app',
    'pet-shop --logs': 'Open its log in the console',
    'pet-shop tables pets': 'Open the rows of a table',
    reviews: 'Open pending reviews',
    'console --no-browser': 'Print the URL of the console',
  },
});

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

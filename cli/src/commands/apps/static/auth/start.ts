import { startSiteAuth } from '@svc/contract/static-sites.ts';
import { defineCommand } from '../../../../define-command.ts';
import { plain } from '../../../../output.ts';

export default defineCommand({
  words: 'apps static auth start',
  summary: 'Get an address that signs you in at a site you may see',
  description:
    'For browsers that have no login of their own: the address is good once, for a minute, and leads to the target. ' +
    'Whoever opens it first is you at that site, so hand it to nobody else. Nothing is previewed.',
  kind: 'local',
  calls: `${startSiteAuth.method} ${startSiteAuth.path}`,
  flags: {
    target: { type: 'string', placeholder: 'url', required: true, summary: 'An address of a site' },
    app: { type: 'string', placeholder: 'app', summary: 'App whose site it must be, by id or slug' },
  },
  run: async (ctx, { flags }) => {
    const body = { target: flags.target, ...(flags.app !== undefined && { app: flags.app }) };
    const answer = await (await ctx.client()).call(startSiteAuth, { body }, { signal: ctx.signal });
    ctx.note(`Good once, until ${plain(answer.expires_at)}.`);
    return { value: answer, text: () => `${plain(answer.redirect_url)}\n` };
  },
  output: async () => {
    const { authStartSchema } = await import('../../../../static/output-schemas.ts');
    return authStartSchema();
  },
  examples: [
    {
      line: 'svc apps static auth start --target http://pet-shop.apps.localhost:4400/',
      does: 'Print the address',
    },
  ],
});

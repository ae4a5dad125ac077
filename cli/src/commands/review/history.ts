import { perPageMax } from '@svc/contract/limits.ts';
import { listPublications, listPublicationsOfApp } from '@svc/contract/review.ts';
import { callText } from '../../call-text.ts';
import { defineCommand } from '../../define-command.ts';
import { publicationView } from '../../views/publication.ts';

export default defineCommand({
  words: 'review history',
  summary: 'What was asked for and what became of it, of one app or of the whole tenant',
  description:
    'With --app every request of that app, for its owners and for tenant admins. Without it what is decided or over in the ' +
    'tenant, for tenant admins. The newest first.',
  kind: 'read',
  calls: `${callText(listPublications)}, or with --app ${callText(listPublicationsOfApp)}`,
  flags: {
    app: { type: 'string', placeholder: 'app', summary: 'Of this app only, by id or slug' },
    page: { type: 'integer', min: 1, max: 1_000_000, default: 1, summary: 'Page, from 1' },
    'page-size': {
      type: 'integer',
      min: 1,
      max: perPageMax,
      alias: ['per-page'],
      default: 20,
      summary: 'Entries per page',
    },
    all: { type: 'boolean', excludes: ['page'], winsOver: ['page-size'], summary: 'Every page' },
  },
  run: async (ctx, { flags }) => {
    const { listHistory } = await import('../../review/list-history.ts');
    const { app, page, 'page-size': per_page } = flags;
    const value = await listHistory(ctx, { app, page, per_page, pages: flags.all ? 'all' : 'one' });
    return { value };
  },
  output: async () => {
    const { listPublications: shape } = await import('@svc/contract/review.shapes.ts');
    return shape.answer.toJSONSchema({ io: 'input', unrepresentable: 'any' });
  },
  view: publicationView,
  examples: [
    { line: 'svc review history --app pet-shop', does: 'What its owners have asked for, and the answers' },
    { line: 'svc review history --page 2 --page-size 50', does: 'What was decided in the tenant before' },
  ],
});

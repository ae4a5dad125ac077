import { getAppMetrics, metricsRanges } from '@svc/contract/app-metrics.ts';
import { appFlag } from '../app-flag.ts';
import { defineCommand } from '../define-command.ts';
import { metricsText } from '../metrics-text.ts';

export default defineCommand({
  words: 'metrics',
  summary: 'Show what an app was asked, how long it took, and what it uses',
  kind: 'read',
  flags: {
    ...appFlag,
    range: { type: 'enum', values: metricsRanges, summary: 'How far back (default 1h)' },
  },
  endpoint: getAppMetrics,
  input: ({ tenant, flags }) => ({
    params: { tenantID: tenant, app: flags.app },
    query: flags.range === undefined ? {} : { range: flags.range },
  }),
  text: metricsText,
  examples: [
    { line: 'svc metrics --app pet-shop', does: 'Of the last hour, by the minute' },
    { line: 'svc metrics --app pet-shop --range 7d --json', does: 'Of a week, by the hour' },
  ],
});

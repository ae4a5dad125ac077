import { findAuditBreaks } from '../../plumbing/audit.ts';
import { anchorsFile, readAnchors } from '../../plumbing/audit-anchors.ts';
import { type Check, ok, problem } from './check.ts';

const breaksShownMax = 20;

export const auditChains: Check = {
  name: 'audit chains',
  needs: 'database',
  run: async ({ config, control }) => {
    // Before the snapshot: what is anchored is in the database, while what comes meanwhile may be in neither.
    const anchors = readAnchors(anchorsFile(config.dataDir));
    const snapshot = await control.db
      .startTransaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute();
    const breaks = await findAuditBreaks(snapshot, anchors).finally(() => snapshot.rollback().execute());
    if (breaks.length === 0) return ok(`Whole, and in agreement with ${anchors.length} anchors.`);
    const shown = breaks.slice(0, breaksShownMax);
    if (breaks.length > shown.length) shown.push(`and ${breaks.length - shown.length} more`);
    return problem(
      `${breaks.length} breaks: ${shown.join('; ')}`,
      'Someone changed the record of who did what. Compare with a backup, and find out who has access to the database.',
    );
  },
};

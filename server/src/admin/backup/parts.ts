/** What `--exclude` can name. */
export const backupParts = ['objects', 'raw-databases'] as const;
export type BackupPart = (typeof backupParts)[number];

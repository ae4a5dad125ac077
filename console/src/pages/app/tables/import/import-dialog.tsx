import { useState } from 'react';
import { Dialog } from '../dialog.tsx';
import { useTable } from '../use-table.ts';
import { ImportCheck } from './import-check.tsx';
import { ImportChoice } from './import-choice.tsx';
import type { ImportFormat } from './source-records.ts';

/** What is imported, once it is chosen. */
export interface ImportSource {
  /** Of this choice: a second one may look the same. */
  key: string;
  blob: Blob;
  name: string;
  format: ImportFormat;
}

/** A file or a pasted text: chosen, looked at, then stored. */
export function ImportDialog({ onClose, onStored }: { onClose: () => void; onStored: () => void }) {
  const { table } = useTable();
  const [source, setSource] = useState<ImportSource | null>(null);
  return (
    <Dialog onClose={onClose} title={`Import rows into ${table.name}`} size="xl" isBusy>
      {source ? (
        <ImportCheck source={source} onBack={() => setSource(null)} onClose={onClose} onStored={onStored} />
      ) : (
        <ImportChoice onChosen={setSource} onClose={onClose} />
      )}
    </Dialog>
  );
}

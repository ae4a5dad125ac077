import { useEffect, useState } from 'react';
import { type Edits, hasUnsaved, noEdits } from './edits.ts';

/** While the console is open, what was not saved is still there when one comes back to the table. */
const kept = new Map<string, Edits>();

/** Also from pages that show no table: what is kept would be lost all the same. */
const ask = (event: BeforeUnloadEvent) => event.preventDefault();

export function useEdits(tableId: string): [Edits, (change: (edits: Edits) => Edits) => void] {
  const [edits, setEdits] = useState<Edits>(() => kept.get(tableId) ?? noEdits);
  useEffect(() => {
    kept.set(tableId, edits);
    if (hasUnsaved(kept.values())) addEventListener('beforeunload', ask);
    else removeEventListener('beforeunload', ask);
  }, [tableId, edits]);
  return [edits, setEdits];
}

import { deleteObject } from '@svc/contract/storage.ts';
import { useApp } from '../use-app.ts';
import { useBatch } from './use-batch.ts';

export function useDeleteObjects(onDone: () => void) {
  const { params } = useApp();
  return useBatch(deleteObject, {
    title: 'Delete files',
    verb: 'Delete',
    done: (keys: readonly string[]) =>
      keys.length === 1 ? `${keys[0]} is deleted.` : `${keys.length} files are deleted.`,
    input: (key: string) => ({ params, query: { key } }),
    onDone,
  });
}

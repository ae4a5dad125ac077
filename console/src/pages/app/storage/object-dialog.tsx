import { Modal } from '@mantine/core';
import { useSearchParams } from 'wouter';
import { ObjectDetails } from './object-details.tsx';

/** One object, as the address names it. */
export function ObjectDialog() {
  const [search, setSearch] = useSearchParams();
  const key = search.get('object');
  const close = () =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        after.delete('object');
        return after;
      },
      { replace: true },
    );
  return (
    <Modal
      opened={key !== null}
      onClose={close}
      title={key}
      size="xl"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {key !== null && <ObjectDetails objectKey={key} close={close} />}
    </Modal>
  );
}

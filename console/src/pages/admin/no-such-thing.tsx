import { Empty } from '../../parts/empty.tsx';
import { BackLink } from './form-frame.tsx';

/** Where the address names a thing that is not there (any more). */
export function NoSuchThing({
  what,
  back,
  error,
}: {
  what: string;
  back: { to: string; label: string };
  /** The answer that said so. */
  error: unknown;
}) {
  return (
    <>
      <BackLink {...back} />
      <Empty title={`There is no such ${what}`} error={error}>
        It may have been deleted, or the address is not whole. The list shows what there is.
      </Empty>
    </>
  );
}

import { Empty } from '../../parts/empty.tsx';
import { BackLink } from './form-frame.tsx';

/** Where the address names a thing that is not there (any more). */
export function NoSuchThing({ what, back }: { what: string; back: { to: string; label: string } }) {
  return (
    <>
      <BackLink {...back} />
      <Empty title={`There is no such ${what}`}>
        It may have been deleted, or the address is not whole. The list shows what there is.
      </Empty>
    </>
  );
}

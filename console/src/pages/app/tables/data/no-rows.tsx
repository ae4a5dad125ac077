import { Empty } from '../../../../parts/empty.tsx';
import { useTable } from '../use-table.ts';

export function NoRows({ isFiltered, isLater }: { isFiltered: boolean; isLater: boolean }) {
  const { table, app } = useTable();
  if (isFiltered || isLater) {
    return (
      <Empty title={isLater ? 'No more rows' : 'No row fits the filter'}>
        {isLater ? 'The rows that were here are gone.' : 'Loosen it or take it away to see others.'}
      </Empty>
    );
  }
  return (
    <Empty
      title="No rows yet"
      command={`svc rows import ${table.name} --app ${app.slug} --from-file rows.csv --execute`}
    >
      Insert one, import a file of CSV or JSON lines, or let a program write them over the data API.
    </Empty>
  );
}

import { listTables } from '@svc/contract/tables.ts';
import { useParams, useSearchParams } from 'wouter';
import { Empty } from '../../../parts/empty.tsx';
import { useApp } from '../use-app.ts';
import { NewTable } from './new-table.tsx';
import { TableList } from './table-list.tsx';
import { TablePage } from './table-page.tsx';

/** The app's tables; one of them; or the form for a new one. */
export default function TablesTab() {
  const { part } = useParams<{ part?: string }>();
  const [search] = useSearchParams();
  const { why, app } = useApp();
  const reason = why(listTables);
  if (reason !== null) {
    return (
      <Empty title="The tables are for the app's owners" command={`svc rows list <table> --app ${app.slug}`}>
        {reason} Whoever has a table grant reads and writes its rows over the data API.
      </Empty>
    );
  }
  if (part !== undefined) return <TablePage key={part} name={part} />;
  return search.has('create') ? <NewTable /> : <TableList />;
}

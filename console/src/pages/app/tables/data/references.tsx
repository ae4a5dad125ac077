import { Select, type SelectProps } from '@mantine/core';
import { tablePath } from '@svc/contract/row-path.ts';
import { getTable } from '@svc/contract/tables.ts';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { client } from '../../../../api/client.ts';
import { SmallLink } from '../../../../components/page-layout.tsx';
import { useApp } from '../../use-app.tsx';
import { formatCell } from './cell-value.ts';
import { type ReferenceLabels, referenceKey } from './relations.ts';
import { fetchPage } from './rows-api.ts';

interface Labelled {
  id: string;
  label: string;
}

const choicesMax = 20;

/** Rows of a table by their first text, which says more to people than an id. */
export function useLabels() {
  const { app, tenant, params } = useApp();
  return async (table: string, query: Record<string, string>, signal: AbortSignal): Promise<Labelled[]> => {
    const { columns } = await client.call(getTable, { params: { ...params, table } }, { signal });
    const text = columns.find(({ name, type }) => type === 'text' && name !== 'id')?.name;
    const { search, ...rest } = query;
    const conditions = { ...rest, ...(search && text !== undefined && { [text]: `ihas.${search}` }) };
    const parameters = new URLSearchParams({
      select: text === undefined ? 'id' : `id,label:${text}`,
      ...(text !== undefined && { sort: text }),
      ...conditions,
    });
    const { rows } = await fetchPage(tablePath(tenant.slug, app.slug, table), parameters, signal);
    return rows.map((row) => {
      const id = formatCell('text', row.get('id') ?? '');
      return { id, label: formatCell('text', row.get('label') ?? '') || id };
    });
  };
}

/** A link that opens the row, under its label. */
export function ReferenceValue({
  table,
  value,
  labels,
  tabIndex,
}: {
  table: string;
  value: string;
  labels: ReferenceLabels;
  tabIndex?: number;
}) {
  const rowPath = useRowPath();
  const id = formatCell('text', value);
  return (
    <SmallLink to={rowPath(table, id)} title={`${table} ${id}`} tabIndex={tabIndex}>
      {labels.get(referenceKey(table, id)) ?? id}
    </SmallLink>
  );
}

/** The path of a table that shows one row and its details. */
export function useRowPath(): (table: string, id: string) => string {
  const { paths } = useApp();
  return (table, id) => `${paths.table(table)}?${new URLSearchParams({ filter: `id=eq.${id}`, row: id })}`;
}

/** Picks the row that a column refers to. */
export function ReferenceInput({
  table,
  text,
  onText,
  ...rest
}: { table: string; text: string; onText: (text: string) => void } & Pick<
  SelectProps,
  'label' | 'aria-label' | 'description' | 'error' | 'placeholder'
>) {
  const load = useLabels();
  const [search, setSearch] = useState('');
  const answer = useQuery({
    queryKey: ['rows.choices', table, search],
    queryFn: ({ signal }) => load(table, { search, per_page: String(choicesMax) }, signal),
    placeholderData: keepPreviousData,
  });
  const current = useQuery({
    queryKey: ['rows.choices', table, 'id', text],
    queryFn: ({ signal }) => load(table, { id: `eq.${text}` }, signal),
    enabled: text !== '',
  });
  const found = [...(current.data ?? []), ...(answer.data ?? [])];
  const choices = found.filter(({ id }, at) => found.findIndex((other) => other.id === id) === at);
  const known =
    choices.some(({ id }) => id === text) || text === '' ? choices : [{ id: text, label: text }, ...choices];
  const isTwice = (label: string) => known.filter((each) => each.label === label).length > 1;
  return (
    <Select
      {...rest}
      data={known.map(({ id, label }) => ({ value: id, label: isTwice(label) ? `${label} (${id})` : label }))}
      value={text === '' ? null : text}
      onChange={(value) => onText(value ?? '')}
      searchable
      clearable
      onSearchChange={setSearch}
      filter={({ options }) => options}
      nothingFoundMessage={`No row of ${table} has this text.`}
      placeholder={rest.placeholder ?? `A row of ${table}`}
      data-autofocus
    />
  );
}

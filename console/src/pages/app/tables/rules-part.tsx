import { Alert, Badge, Group, NativeSelect, Stack, TagsInput, Text } from '@mantine/core';
import { type Access, accessMatrix } from '@svc/contract/access-matrix.ts';
import { listAppRoles } from '@svc/contract/app-roles.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import {
  type AccessPreset,
  accessPresets,
  isOpenToChanges,
  openToChanges,
  presetOf,
  presetRules,
  ruleActions,
  type TableRules,
} from '@svc/contract/table-rules.ts';
import { getTableAccess, setTableAccess } from '@svc/contract/tables.ts';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { DataTable } from '../../../components/data-table.tsx';
import { FormCard } from '../../../components/form-card.tsx';
import { QueryView } from '../../../components/query-view.tsx';
import { BoldText, Heading, Hint } from '../../../components/text.tsx';
import { useForm } from '../../../components/use-form.ts';
import { type ColumnDraft, draftErrors, draftOf, rulesOf, validRules } from './rules-draft.ts';
import { useTable } from './use-table.ts';

/** Who may do what with the rows, with a preview of the rules while they are edited. */
export function RulesPart() {
  const { params } = useTable();
  const answer = useEndpoint(getTableAccess, { params });
  return (
    <QueryView answer={answer} lines={6}>
      {(access) => <RulesForm access={access} />}
    </QueryView>
  );
}

type AccessRecord = Answer<NonNullable<typeof getTableAccess.shape>>;

/** A filter may contain commas; and the suggestions belong to the page. */
const tags = { splitChars: [], comboboxProps: { withinPortal: false } };

const hints: Record<(typeof ruleActions)[number], string> = {
  read: 'Who sees rows',
  insert: 'Who adds rows',
  update: 'Who changes rows',
  delete: 'Who deletes rows',
};

export const presetLabels: Record<AccessPreset, string> = {
  own: 'own: people work with their own rows',
  'read-only': 'read-only: everybody reads, the app writes',
  'read-write': 'read-write: everybody reads and changes every row',
  'insert-only': 'insert-only: everybody adds rows, the app reads',
  closed: 'closed: only the app itself',
};

function RulesForm({ access }: { access: AccessRecord }) {
  const { table, params, whyNotAlter } = useTable();
  const roles = useKnownRoles();
  const why = whyNotAlter(setTableAccess);
  const form = useForm(setTableAccess, draftOf(access), {
    title: 'Set the rules',
    verb: 'Set rules',
    done: 'Rules set.',
    disabled: why !== null,
    whyNot: () => why,
    errors: draftErrors,
    input: (draft) => ({ params, body: rulesOf(draft) }),
  });
  const suggestions = [
    'any',
    ...(table.owner_column === null ? [] : ['own']),
    'app',
    'none',
    ...roles.map((role) => `role:${role}`),
  ];
  const choose = (preset: string) => {
    const rules = presetRules[preset as AccessPreset];
    if (rules) form.set(draftOf(rules));
  };
  const presets = accessPresets.filter((preset) => preset !== 'own' || table.owner_column !== null);
  const preview = validRules(form.values);
  return (
    <Stack gap="md">
      {access.open_to_changes && (
        <Alert color="yellow" icon={<IconAlertTriangle size={18} aria-hidden />} title="Open table">
          Warning: {openToChanges}.
        </Alert>
      )}
      <FormCard title="Rules" form={form} submit="Preview rules">
        <Hint>
          For people who use the app, and for the app itself. Each rule is a list of alternatives: any, own,
          role:name, app, none, a filter such as region=eq.@me.region, or both: role:manager where
          region=eq.@me.region.
        </Hint>
        <NativeSelect
          label="Start from a preset"
          value={preview ? (presetOf(preview) ?? '') : ''}
          onChange={(event) => choose(event.currentTarget.value)}
          disabled={why !== null}
          data={[
            { value: '', label: 'rules of its own' },
            ...presets.map((value) => ({ value, label: presetLabels[value] })),
          ]}
        />
        {ruleActions.map((action) => (
          <TagsInput
            key={action}
            {...form.field(action)}
            description={hints[action]}
            data={suggestions}
            {...tags}
            placeholder={form.values[action].length === 0 ? 'nobody' : ''}
          />
        ))}
        <ColumnRules
          columns={form.values.columns}
          set={(columns) => form.set({ columns })}
          error={form.error}
          suggestions={suggestions}
          disabled={why !== null}
        />
      </FormCard>
      {preview ? (
        <AccessPreview rules={preview} />
      ) : (
        <Text size="sm">The preview appears when every rule can be read.</Text>
      )}
    </Stack>
  );
}

function useKnownRoles(): string[] {
  const { params } = useTable();
  const { tenantID, app } = params;
  const answer = useEndpoint(listAppRoles, { params: { tenantID, app }, query: { per_page: 200 } });
  return [...new Set(answer.data?.items.map(({ role }) => role) ?? [])];
}

function ColumnRules({
  columns,
  set,
  error,
  suggestions,
  disabled,
}: {
  columns: ColumnDraft;
  set: (columns: ColumnDraft) => void;
  error: (name: string) => string | undefined;
  suggestions: string[];
  disabled: boolean;
}) {
  const { table } = useTable();
  const free = table.columns.filter(({ name }) => !Object.hasOwn(columns, name));
  return (
    <Stack gap="xs">
      {Object.entries(columns).map(([name, rules]) => (
        <Group key={name} grow align="flex-start" role="group" aria-label={`Rules of column ${name}`}>
          {(['read', 'write'] as const).map((kind) => (
            <TagsInput
              key={kind}
              label={`${name}: ${kind}`}
              description={kind === 'read' ? 'Who sees the column' : 'Who writes it; empty: same as read'}
              value={rules[kind] ?? []}
              onChange={(list) => set(withColumnRule(columns, name, kind, list))}
              error={error(`columns.${name}.${kind}`)}
              data={suggestions}
              {...tags}
              disabled={disabled}
            />
          ))}
        </Group>
      ))}
      {free.length > 0 && (
        <NativeSelect
          label="Add a rule for a column"
          value=""
          disabled={disabled}
          onChange={(event) => set({ ...columns, [event.currentTarget.value]: { read: ['none'] } })}
          data={[{ value: '', label: 'Choose a column' }, ...free.map(({ name }) => name)]}
        />
      )}
    </Stack>
  );
}

/** A column without rules follows those of the table. */
function withColumnRule(
  columns: ColumnDraft,
  name: string,
  kind: 'read' | 'write',
  list: string[],
): ColumnDraft {
  const { [kind]: _, ...other } = columns[name] ?? {};
  const rules = list.length > 0 ? { ...other, [kind]: list } : other;
  const { [name]: __, ...rest } = columns;
  return Object.keys(rules).length > 0 ? { ...rest, [name]: rules } : rest;
}

export function AccessPreview({ rules }: { rules: TableRules }) {
  const { table } = useTable();
  const rows = accessMatrix(rules, { ownerColumn: table.owner_column });
  return (
    <Stack gap="xs">
      <Heading order={3}>Who may do what</Heading>
      {isOpenToChanges(rules) && <BoldText>With these rules {openToChanges}.</BoldText>}
      <DataTable
        label="Who may do what"
        minWidth={640}
        verticalSpacing="xs"
        rows={rows.map((row) => ({ ...row, id: row.who }))}
        columns={[
          { head: 'Who', cell: ({ who }) => <BoldText>{who}</BoldText> },
          ...ruleActions.map((action) => ({
            head: action,
            cell: ({ actions }: (typeof rows)[number]) => <AccessText access={actions[action]} />,
          })),
          {
            head: 'Columns',
            cell: ({ hidden, readOnly }) => (
              <Hint>
                {[
                  ...(hidden.length > 0 ? [`not ${hidden.join(', ')}`] : []),
                  ...(readOnly.length > 0 ? [`${readOnly.join(', ')} only to read`] : []),
                ].join('; ') || 'all'}
              </Hint>
            ),
          },
        ]}
      />
    </Stack>
  );
}

function AccessText({ access }: { access: Access }) {
  if (access === 'yes')
    return (
      <Badge variant="light" color="green" tt="none">
        yes
      </Badge>
    );
  if (access.length === 0) return <Text size="sm">no</Text>;
  return <Text size="sm">where {access.join(' or ')}</Text>;
}

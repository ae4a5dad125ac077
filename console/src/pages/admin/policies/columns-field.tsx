import {
  ActionIcon,
  Code,
  Fieldset,
  Group,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core';
import { columnModes, maskKinds, policyColumnsMax, policyMasksMax } from '@svc/contract/access-policies.ts';
import { IconPlus, IconX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { ActionButton } from '../../../components/buttons.tsx';
import { Hint } from '../../../components/text.tsx';
import { type Fields, type Form, itemFields } from '../../../components/use-form.ts';
import {
  type Mask,
  type MaskKind,
  maskTexts,
  otherArgs,
  type PolicyDraft,
  withMaskKind,
} from './policy-draft.ts';

export interface PolicyColumns {
  mode: (typeof columnModes)[number];
  names: string[];
}

const labels: Record<PolicyColumns['mode'], string> = {
  all: 'All',
  allow: 'Only these',
  deny: 'All except',
};

export function ColumnsField({
  columns,
  onChange,
  error,
}: {
  columns: PolicyColumns;
  onChange: (columns: PolicyColumns) => void;
  error?: string | undefined;
}) {
  return (
    <Fieldset legend="Columns">
      <Stack gap="sm" align="flex-start">
        <SegmentedControl
          aria-label="Visible columns"
          data={columnModes.map((value) => ({ value, label: labels[value] }))}
          value={columns.mode}
          onChange={(mode) => onChange({ ...columns, mode: mode as PolicyColumns['mode'] })}
        />
        {columns.mode === 'all' ? (
          <Hint>All columns are visible, including columns added later.</Hint>
        ) : (
          <TagsInput
            label={columns.mode === 'allow' ? 'Visible columns' : 'Hidden columns'}
            placeholder="Enter adds a name"
            value={columns.names}
            onChange={(names) => onChange({ ...columns, names })}
            maxTags={policyColumnsMax}
            splitChars={[',', ' ']}
            isDuplicate={(name, names) => names.includes(name)}
            error={error}
            w="100%"
          />
        )}
      </Stack>
    </Fieldset>
  );
}

export function MasksField({ form }: { form: Form<PolicyDraft> }) {
  const { masks } = form.values;
  const error = form.error('masks');
  const setMasks = (next: Mask[]) => form.set({ masks: next });
  return (
    <Fieldset legend="Column masks">
      <Stack gap="sm">
        <Hint>Columns whose values are masked.</Hint>
        {masks.map((_, at) => (
          <MaskRow
            // biome-ignore lint/suspicious/noArrayIndexKey: a mask has no id; its position identifies it.
            key={at}
            mask={itemFields<'masks', Mask>(form, 'masks', at)}
            position={`mask ${at + 1}`}
            onRemove={() => setMasks(masks.toSpliced(at, 1))}
          />
        ))}
        {error && (
          <Text size="sm" c="var(--mantine-color-error)" role="alert">
            {error}
          </Text>
        )}
        <Group>
          <ActionButton
            size="compact-sm"
            icon={IconPlus}
            why={masks.length < policyMasksMax ? null : `A policy has at most ${policyMasksMax} masks.`}
            onClick={() => setMasks([...masks, { column: '', kind: 'redact', args: {} }])}
          >
            Add mask
          </ActionButton>
        </Group>
      </Stack>
    </Fieldset>
  );
}

const numberArgs: Partial<
  Record<MaskKind, readonly { name: string; label: string; min: number; suffix: string }[]>
> = {
  partial: [
    { name: 'first', label: 'First characters', min: 0, suffix: ' first' },
    { name: 'last', label: 'Last characters', min: 0, suffix: ' last' },
  ],
  round: [{ name: 'to', label: 'Multiple', min: 1, suffix: '' }],
};

function MaskRow({
  mask: { values: mask, field, set },
  position,
  onRemove,
}: {
  mask: Fields<Mask>;
  position: string;
  onRemove: () => void;
}) {
  const others = otherArgs(mask);
  const setArg = (name: string, value: string | number) => set({ args: { ...mask.args, [name]: value } });
  return (
    <RemovableRow position={position} onRemove={onRemove}>
      <TextInput
        {...field('column')}
        label={null}
        aria-label={`Column of ${position}`}
        placeholder="column"
        classNames={{ input: 'mono' }}
        flex="1 1 140px"
        maxLength={128}
      />
      <Select
        {...field('kind')}
        label={null}
        aria-label={`Kind of ${position}`}
        data={maskKinds.map((value) => ({ value, label: maskTexts[value] }))}
        onChange={(kind) => kind && set(withMaskKind(mask, kind as MaskKind))}
        allowDeselect={false}
        flex="2 1 220px"
      />
      {numberArgs[mask.kind]?.map(({ name, label, min, suffix }) => (
        <NumberInput
          key={name}
          aria-label={`${label} of ${position}`}
          value={typeof mask.args[name] === 'number' ? mask.args[name] : min}
          onChange={(value) => setArg(name, typeof value === 'number' ? value : min)}
          min={min}
          allowDecimal={false}
          suffix={suffix}
          flex="1 1 90px"
        />
      ))}
      {mask.kind === 'truncate' && (
        <Select
          aria-label={`Unit of ${position}`}
          data={['year', 'month', 'day']}
          value={String(mask.args.unit ?? 'month')}
          onChange={(unit) => unit && setArg('unit', unit)}
          allowDeselect={false}
          flex="1 1 110px"
        />
      )}
      {mask.kind === 'constant' && (
        <TextInput
          aria-label={`Text of ${position}`}
          value={String(mask.args.value ?? '')}
          onChange={(event) => setArg('value', event.currentTarget.value)}
          flex="1 1 110px"
          maxLength={1000}
        />
      )}
      {Object.keys(others).length > 0 && <Code>{JSON.stringify(others)}</Code>}
    </RemovableRow>
  );
}

export function RemovableRow({
  position,
  onRemove,
  children,
}: {
  position: string;
  onRemove: () => void;
  children: ReactNode;
}) {
  return (
    <Group gap="xs" wrap="nowrap" role="group" aria-label={position}>
      <Group gap="xs" flex={1} miw={0}>
        {children}
      </Group>
      <ActionIcon variant="subtle" color="gray" onClick={onRemove} aria-label={`Remove ${position}`}>
        <IconX size={16} aria-hidden />
      </ActionIcon>
    </Group>
  );
}

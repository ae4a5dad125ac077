import { Fieldset, Grid, Textarea } from '@mantine/core';
import { rowFilterCharsMax } from '@svc/contract/access-policies.ts';
import { useState } from 'react';
import { Hint } from '../../../components/text.tsx';
import { FilterGroupBox } from './filter-builder.tsx';
import { type FilterGroup, filterError, formatFilter, newGroup, parseFilter } from './row-filter.ts';

export function RowFilterField({
  initial,
  onChange,
  error,
}: {
  initial: string;
  onChange: (text: string) => void;
  error?: string | undefined;
}) {
  const [filter, setFilter] = useState(() => readText(initial));

  function update(next: FilterState) {
    setFilter(next);
    onChange(next.text);
  }
  const build = (root: FilterGroup) => update({ root, text: formatFilter(root), fault: filterError(root) });
  const type = (text: string) => {
    const read = readText(text);
    update(read.fault === null ? read : { ...read, root: filter.root });
  };

  return (
    <Fieldset legend="Row filter">
      <Hint mb="sm">Only matching rows are visible. Without a condition all rows are.</Hint>
      <Grid>
        <Grid.Col span={{ base: 12, xl: 8 }}>
          <FilterGroupBox group={filter.root} position="" depth={0} onChange={build} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, xl: 4 }}>
          <Textarea
            label="As text"
            description="In the syntax of the row API; you can edit it here."
            placeholder="region=eq.eu&or=(age.gte.18,vip.is.true)"
            value={filter.text}
            onChange={(event) => type(event.currentTarget.value)}
            error={filter.fault ?? error}
            maxLength={rowFilterCharsMax}
            minRows={4}
            classNames={{ input: 'mono' }}
            spellCheck={false}
          />
        </Grid.Col>
      </Grid>
    </Fieldset>
  );
}

interface FilterState {
  root: FilterGroup;
  text: string;
  fault: string | null;
}

function readText(text: string): FilterState {
  const { root, fault } = parseFilter(text);
  return { root: root ?? newGroup('and', []), text, fault };
}

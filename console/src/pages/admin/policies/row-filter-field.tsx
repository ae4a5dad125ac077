import { Fieldset, Grid, Text, Textarea } from '@mantine/core';
import { rowFilterCharsMax } from '@svc/contract/access-policies.ts';
import { useState } from 'react';
import { FilterGroupBox } from './filter-group-box.tsx';
import { parseRowFilter } from './parse-row-filter.ts';
import { printRowFilter } from './print-row-filter.ts';
import { type FilterGroup, faultOf, newGroup } from './row-filter.ts';

export interface RowFilterDraft {
  text: string;
  /** Why it can not be saved; null when it can. */
  fault: string | null;
}

/** A filter to build by hand, with its text beside it; a change of either changes the other. */
export function RowFilterField({
  initial,
  onChange,
  error,
}: {
  initial: string;
  onChange: (draft: RowFilterDraft) => void;
  error?: string | undefined;
}) {
  const [shown, setShown] = useState(() => readText(initial));

  function show(next: Shown) {
    setShown(next);
    onChange({ text: next.text, fault: next.fault });
  }
  const build = (root: FilterGroup) => show({ root, text: printRowFilter(root), fault: faultOf(root) });
  const type = (text: string) => {
    const read = readText(text);
    // A text that can not be read leaves the builder as it was.
    show(read.fault === null ? read : { ...read, root: shown.root });
  };

  return (
    <Fieldset legend="Row filter">
      <Text size="sm" c="dimmed" mb="sm">
        Only rows that pass it are seen. No condition shows all rows.
      </Text>
      <Grid>
        <Grid.Col span={{ base: 12, xl: 8 }}>
          <FilterGroupBox group={shown.root} place="" depth={0} onChange={build} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, xl: 4 }}>
          <Textarea
            label="As text"
            description="As the row API spells it; type here as well."
            placeholder="region=eq.eu&or=(age.gte.18,vip.is.true)"
            value={shown.text}
            onChange={(event) => type(event.currentTarget.value)}
            error={shown.fault ?? error}
            maxLength={rowFilterCharsMax}
            autosize
            minRows={4}
            classNames={{ input: 'mono' }}
            spellCheck={false}
          />
        </Grid.Col>
      </Grid>
    </Fieldset>
  );
}

interface Shown extends RowFilterDraft {
  root: FilterGroup;
}

function readText(text: string): Shown {
  const { root, fault } = parseRowFilter(text);
  return { root: root ?? newGroup('and', []), text, fault };
}

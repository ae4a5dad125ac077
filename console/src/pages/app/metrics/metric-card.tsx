import { Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { type AppMetrics, type Chart, chartRows } from './figures.ts';
import { MetricChart } from './metric-chart.tsx';
import { MetricTable } from './metric-table.tsx';

/** A chart, and the same as a table for who reads figures rather than looks at lines. */
export function MetricCard({ chart, metrics }: { chart: Chart; metrics: AppMetrics }) {
  const [isTable, setTable] = useState(false);
  const rows = chartRows(chart, metrics);
  const hasPoints = rows.some(({ values }) => values.some((value) => value !== null));
  return (
    <Paper withBorder p="md" component="section" aria-label={chart.title} miw={0}>
      <Stack gap="sm">
        <Group justify="space-between" align="flex-start" wrap="nowrap">
          <div>
            <Title order={3} size="h5">
              {chart.title}
            </Title>
            <Text size="sm" c="dimmed">
              {chart.means}
            </Text>
          </div>
          <Button
            size="compact-sm"
            variant="default"
            style={{ flex: 'none' }}
            onClick={() => setTable(!isTable)}
            aria-label={isTable ? `${chart.title} as chart` : `${chart.title} as table`}
          >
            {isTable ? 'As chart' : 'As table'}
          </Button>
        </Group>
        {isTable && <MetricTable chart={chart} rows={rows} />}
        {!isTable && hasPoints && <MetricChart chart={chart} rows={rows} />}
        {!isTable && !hasPoints && (
          <Text c="dimmed">There is nothing to draw: nothing was measured in this time.</Text>
        )}
      </Stack>
    </Paper>
  );
}

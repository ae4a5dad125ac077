import { SimpleGrid } from '@mantine/core';
import { type AppMetrics, charts } from './figures.ts';
import { MetricCard } from './metric-card.tsx';

export function MetricCharts({ metrics }: { metrics: AppMetrics }) {
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
      {charts.map((chart) => (
        <MetricCard key={chart.title} chart={chart} metrics={metrics} />
      ))}
    </SimpleGrid>
  );
}

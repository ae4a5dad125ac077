import { Chip, Group } from '@mantine/core';
import { type Category, CategoryMark } from './category-mark.tsx';

/** One category at a time; the first chip is all of them. */
export function CategoryChips({
  categories,
  value,
  onChange,
}: {
  categories: readonly Category[];
  /** The slug of one; empty: all. */
  value: string;
  onChange: (slug: string) => void;
}) {
  if (categories.length === 0) return null;
  const known = categories.find(({ id, slug }) => slug === value || id === value)?.slug ?? '';
  return (
    <Chip.Group value={known} onChange={(next: string) => onChange(next)}>
      <Group gap="xs" role="radiogroup" aria-label="Category">
        <Chip value="" size="sm" variant="outline">
          All categories
        </Chip>
        {categories.map((category) => (
          <Chip key={category.id} value={category.slug} size="sm" variant="outline">
            <Group component="span" gap={6} wrap="nowrap" display="inline-flex">
              <CategoryMark category={category} />
              {category.name}
            </Group>
          </Chip>
        ))}
      </Group>
    </Chip.Group>
  );
}

import { Avatar, ColorSwatch } from '@mantine/core';
import type { listCategories } from '@svc/contract/categories.ts';
import type { Answer } from '@svc/contract/endpoint.ts';
import { IconCategory } from '@tabler/icons-react';

export type Category = Answer<NonNullable<typeof listCategories.shape>>['items'][number];

/** A category at a glance, beside its name: its picture, or its colour. */
export function CategoryMark({ category }: { category: Pick<Category, 'color' | 'icon_url'> }) {
  if (category.icon_url) return <Avatar src={category.icon_url} size={16} radius="xs" alt="" aria-hidden />;
  if (category.color) return <ColorSwatch color={category.color} size={12} aria-hidden />;
  return <IconCategory size={14} aria-hidden />;
}

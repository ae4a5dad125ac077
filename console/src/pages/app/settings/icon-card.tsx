import { SimpleGrid } from '@mantine/core';
import { iconBytesMax, iconSideMax } from '@svc/contract/icons.ts';
import { Section } from '../../../parts/section.tsx';
import { IconSlot } from './icon-slot.tsx';

export function IconCard() {
  return (
    <Section
      title="Icon"
      lead={`PNG, JPEG, WebP or GIF of at most ${iconBytesMax / 1024 ** 2} MB and ${iconSideMax} pixels on each side. Without one for dark grounds the light one stands there as well.`}
    >
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <IconSlot variant="light" />
        <IconSlot variant="dark" />
      </SimpleGrid>
    </Section>
  );
}

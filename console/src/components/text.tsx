import { Button, Text, Title } from '@mantine/core';

export const Heading = Title.withProps({ order: 2, size: 'h4' });
export const SubHeading = Title.withProps({ order: 3, size: 'h5' });
export const Hint = Text.withProps({ size: 'sm', c: 'dimmed' });
export const BoldText = Text.withProps({ size: 'sm', fw: 600 });
export const Mono = Text.withProps({ span: true, size: 'sm', className: 'mono' });
export const SecondaryButton = Button.withProps({ variant: 'default' });
export const SmallButton = Button.withProps({ variant: 'default', size: 'compact-sm' });

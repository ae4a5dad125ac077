import { newNotification } from '../reach/notifications.ts';
import type { World } from '../world.ts';

export const notificationInputs: Readonly<Record<string, (world: World) => Promise<string[]> | string[]>> = {
  'notifications list': () => ['--unread'],
  'notifications read': async (world) => [await newNotification(world, world.people.A)],
};

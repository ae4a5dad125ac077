/** What a person was told, or has read. */
export const notificationsTag = (userId: string) => `notifications:${userId}`;

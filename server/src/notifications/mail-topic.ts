export const mailTopic = 'notifications.mail';

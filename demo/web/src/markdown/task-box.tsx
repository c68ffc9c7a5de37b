import { useMessages } from '../i18n/language.tsx';

/** Shows whether a task of a list is done. */
export function TaskBox({ isDone }: { isDone: boolean }) {
  const { message } = useMessages();
  return (
    <input
      type="checkbox"
      checked={isDone}
      readOnly
      disabled
      aria-label={isDone ? message.taskDone : message.taskOpen}
      className="me-2"
    />
  );
}

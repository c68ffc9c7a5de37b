import { useCallback, useState } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { acceptPicture, MAX_PICTURES, type Picture } from './accept.ts';

/** The pictures of the message that is being written. */
export interface Pictures {
  pictures: Picture[];
  /** How many files are still being read. */
  preparing: number;
  refusals: string[];
  add(files: readonly File[]): void;
  remove(id: string): void;
  clear(): void;
}

/** Keeps the pictures of the message that is being written. */
export function usePictures(): Pictures {
  const messages = useMessages().pictures;
  const [pictures, setPictures] = useState<Picture[]>([]);
  const [preparing, setPreparing] = useState(0);
  const [refusals, setRefusals] = useState<string[]>([]);
  const taken = pictures.length + preparing;
  const add = useCallback(
    (files: readonly File[]) => {
      const fitting = files.slice(0, Math.max(0, MAX_PICTURES - taken));
      setRefusals(fitting.length < files.length ? [messages.tooMany(MAX_PICTURES)] : []);
      setPreparing((count) => count + fitting.length);
      for (const file of fitting) {
        acceptPicture(file, messages)
          .catch(() => ({ refusal: messages.unreadable(file.name) }))
          .then((result) => {
            setPreparing((count) => count - 1);
            if ('picture' in result) setPictures((all) => [...all, result.picture]);
            else setRefusals((all) => [...all, result.refusal]);
          });
      }
    },
    [messages, taken],
  );
  const remove = useCallback((id: string) => setPictures((all) => all.filter((one) => one.id !== id)), []);
  const clear = useCallback(() => {
    setPictures([]);
    setRefusals([]);
  }, []);
  return { pictures, preparing, refusals, add, remove, clear };
}

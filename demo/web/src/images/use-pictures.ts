import { useCallback, useRef, useState } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { MAX_PICTURES, type Picture, preparePicture, typeOf } from './accept.ts';

/** A place in the message that is being written: a file on its way, or the picture that it became. */
export interface Place {
  id: string;
  name: string;
  picture: Picture | null;
}

/** The pictures of the message that is being written. */
export interface Pictures {
  /** In the order in which they were chosen. */
  places: readonly Place[];
  /** Those that are ready. */
  pictures: Picture[];
  /** Whether files are still being read. */
  isPreparing: boolean;
  refusals: string[];
  add(files: readonly File[]): void;
  remove(id: string): void;
  clear(): void;
}

/** Keeps the pictures of the message that is being written. */
export function usePictures(): Pictures {
  const messages = useMessages().pictures;
  const [places, setPlaces] = useState<readonly Place[]>([]);
  const [looking, setLooking] = useState(0);
  const [isOver, setOver] = useState(false);
  const [refused, setRefused] = useState<readonly string[]>([]);
  // Files that are chosen while others are being read must know how many places those took.
  const taken = useRef(places);
  const change = useCallback((next: readonly Place[]) => {
    taken.current = next;
    setPlaces(next);
  }, []);

  const take = useCallback(
    async (files: readonly File[]) => {
      setOver(false);
      setRefused([]);
      setLooking((count) => count + 1);
      const types = await Promise.all(files.map((file) => typeOf(file).catch(() => null)));
      setLooking((count) => count - 1);
      const refuse = (refusal: string) => setRefused((all) => [...all, refusal]);
      for (const [index, file] of files.entries()) {
        const place = { id: crypto.randomUUID(), name: file.name || 'image', picture: null };
        const type = types[index];
        if (!type) {
          refuse(messages.wrongType(place.name));
          continue;
        }
        if (taken.current.length === MAX_PICTURES) {
          setOver(true);
          continue;
        }
        change([...taken.current, place]);
        void preparePicture(file, { ...place, type }, messages).then((result) => {
          if ('refusal' in result) {
            refuse(result.refusal);
            change(taken.current.filter(({ id }) => id !== place.id));
          } else {
            change(taken.current.map((one) => (one.id === place.id ? { ...one, ...result } : one)));
          }
        });
      }
    },
    [messages, change],
  );
  const add = useCallback((files: readonly File[]) => void take(files), [take]);
  const remove = useCallback(
    (id: string) => {
      change(taken.current.filter((one) => one.id !== id));
      setOver(false);
    },
    [change],
  );
  const clear = useCallback(() => {
    change([]);
    setOver(false);
    setRefused([]);
  }, [change]);
  return {
    places,
    pictures: places.flatMap(({ picture }) => picture ?? []),
    isPreparing: looking > 0 || places.some(({ picture }) => picture === null),
    refusals: [...(isOver ? [messages.tooMany(MAX_PICTURES)] : []), ...refused],
    add,
    remove,
    clear,
  };
}

import { useCallback, useRef, useState } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { type Picture, prepareFile } from './accept.ts';
import { type Accepts, isForPictures, kindOf, PICTURES } from './accepts.ts';

/** A file of the message that is being written. `picture` is null while the file is being prepared. */
export interface Place {
  id: string;
  name: string;
  picture: Picture | null;
}

/** The files of the message that is being written. */
export interface Pictures {
  /** All files, in the order in which they were chosen. */
  places: readonly Place[];
  /** The files that the server accepts. */
  accepts: Accepts;
  /** The files that can be sent. */
  pictures: Picture[];
  /** Whether files are still being read. */
  isPreparing: boolean;
  refusals: string[];
  add(files: readonly File[]): void;
  remove(id: string): void;
  clear(): void;
}

/** Keeps the files of the message that is being written. */
export function usePictures(accepts: Accepts = PICTURES): Pictures {
  const messages = useMessages().pictures;
  const [places, setPlaces] = useState<readonly Place[]>([]);
  const [looking, setLooking] = useState(0);
  const [isOver, setOver] = useState(false);
  const [refused, setRefused] = useState<readonly string[]>([]);
  // The latest list, for files that are chosen while others are still being prepared: together they must not exceed
  // the limit.
  const taken = useRef(places);
  const change = useCallback((next: readonly Place[]) => {
    taken.current = next;
    setPlaces(next);
  }, []);

  // The latest accepted types: the server may list them while files are being prepared.
  const current = useRef(accepts);
  current.current = accepts;

  const take = useCallback(
    async (files: readonly File[]) => {
      setOver(false);
      setRefused([]);
      setLooking((count) => count + 1);
      const accepted = current.current;
      const kinds = await Promise.all(files.map((file) => kindOf(file, accepted).catch(() => null)));
      setLooking((count) => count - 1);
      const refuse = (refusal: string) => setRefused((all) => [...all, refusal]);
      for (const [index, file] of files.entries()) {
        const place = { id: crypto.randomUUID(), name: file.name || 'image', picture: null };
        const kind = kinds[index];
        if (!kind) {
          const isPicture = isForPictures(accepted) || file.type.startsWith('image/');
          refuse((isPicture ? messages.wrongType : messages.wrongFile)(place.name));
          continue;
        }
        if (taken.current.length >= accepted.files) {
          setOver(true);
          continue;
        }
        change([...taken.current, place]);
        void prepareFile(file, { ...place, kind }, accepted, messages).then((result) => {
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
    accepts,
    pictures: places.flatMap(({ picture }) => picture ?? []),
    isPreparing: looking > 0 || places.some(({ picture }) => picture === null),
    refusals: [...(isOver ? [messages.tooMany(accepts.files)] : []), ...refused],
    add,
    remove,
    clear,
  };
}

/** The storage of the browser: without it, or beyond its room, a text lasts as long as the page that has it. */

type Area = "localStorage" | "sessionStorage"

/** A text; `null`: there is none. */
export const read = (area: Area, key: string): string | null => {
  try {
    return globalThis[area].getItem(key)
  } catch {
    return null
  }
}

/** Keeps a text as far as the browser does. An empty one is removed. */
export const write = (area: Area, key: string, text: string): void => {
  try {
    if (text === "") globalThis[area].removeItem(key)
    else globalThis[area].setItem(key, text)
  } catch {
    // The page goes on without it.
  }
}

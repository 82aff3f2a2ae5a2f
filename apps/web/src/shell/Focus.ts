/**
 * Keeps the place of the keyboard when the element that has the focus goes away: a button of a wait that is over, a filter that is taken
 * off.
 *
 * The focus goes to the nearest part around it that is still there and can have it (`tabIndex`). Browsers would begin at the top of the
 * page. A part that puts the focus elsewhere itself, such as a form that gives it back to its button, has precedence.
 */

/** Keeps the focus for as long as the page is open. */
export const keep = (): void => {
  let focused: Element | undefined = undefined
  let around: ReadonlyArray<HTMLElement> = []
  addEventListener("focusin", ({ target }) => {
    if (!(target instanceof Element)) return
    focused = target
    around = partsAround(target)
  })
  // Its calls come after the changes of a render and the focus that the render has set.
  new MutationObserver(() => {
    if (focused === undefined || focused.isConnected) return
    focused = undefined
    if (document.activeElement !== null && document.activeElement !== document.body) return
    around.find(({ isConnected }) => isConnected)?.focus({ preventScroll: true })
  }).observe(document.body, { childList: true, subtree: true })
}

// --- internal

const partsAround = (element: Element): ReadonlyArray<HTMLElement> => {
  const found: Array<HTMLElement> = []
  for (let part = element.parentElement; part !== null; part = part.parentElement)
    if (part.hasAttribute("tabindex")) found.push(part)
  return found
}

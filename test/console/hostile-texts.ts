/** Names as others may write them: long, in several scripts, as markup, as a formula, with a mark that turns the text. */
export const HOSTILE = {
  markup: '<img src=x onerror=alert(1)><script>alert(2)</script>',
  link: 'javascript:alert(3)',
  formula: '=HYPERLINK("http://localhost:1/","x")',
  turned: 'evil\u202Etxt.exe',
  emoji: '🧾'.repeat(128),
  long: 'x'.repeat(256),
}

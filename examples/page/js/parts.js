// What every panel says and asks with: sentences, fields, lists to choose from, and what a link may hold. This module
// owns the sentence over the bottom of the page, and gathers those about a link while it is read. It knows numbers.js.

const $ = (id) => document.getElementById(id);

// One of the files that come along in the document.
const fileText = (name) => $(`file-${name}`).textContent.trim();

// Calls use(value) with the element's value whenever an event of this type reaches it.
const when = (type, id, use) => $(id).addEventListener(type, (event) => use(event.target.value));

// Sentences about a link, while it is read.
let aboutLink = null;

// A sentence about what just happened, with a button to undo it if that can be; '' takes it away, as Escape does. While
// a link is read they add up.
function notice(text, undo) {
    if (aboutLink) {
        if (text) aboutLink.push(text);
        return;
    }
    $('notice').textContent = text;
    if (!text) return;
    const add = (name, act) => {
        const button = document.createElement('button');
        button.type = 'button';
        button.textContent = name;
        button.addEventListener('click', () => { notice(''); act(); });
        $('notice').append(button);
    };
    if (undo) add('Undo', undo);
    add('Close', () => {});
}

// Reads a link; the sentences about it are shown together at the end.
function sayTogether(read) {
    aboutLink = [];
    read();
    const sentences = aboutLink.join(' ');
    aboutLink = null;
    notice(sentences);
}

// The words of a sentence, at most so many; undefined, and a notice, if there is none.
function wordsOf(text, most) {
    const words = wellFormed(text).trim().split(/\s+/).filter(Boolean), isLong = words.length > most;
    notice(isLong ? `A sentence has at most ${most} words here: the others are left out.` : '');
    if (words.length) return words.slice(0, most).map(cutWord);
    notice('The sentence is empty: the words stay as they were.');
    return undefined;
}

// What is looked at, in the line that stays in sight; or else what could be.
function tell(id, text, told = true) {
    $(id).textContent = text;
    $(id).classList.toggle('told', told);
}

// Runs what may fail: a sentence then says why.
function attempt(action) {
    try {
        return action();
    } catch (error) {
        notice(error.message.endsWith('.') ? error.message : `${error.message}.`);
        return undefined;
    }
}

// The choices of a list, as HTML.
const optionsHtml = (choices) =>
    choices.map(([value, text]) => `<option value="${value}">${escapeText(text)}</option>`).join('');

// A button that cannot be pressed gives the focus, if it has it, to another.
function disable(id, isDisabled, otherId) {
    if (isDisabled && document.activeElement === $(id)) $(otherId).focus({ preventScroll: true });
    $(id).disabled = isDisabled;
}

// What a field holds, unless somebody is typing into it.
function setField(id, value) {
    if (document.activeElement !== $(id)) $(id).value = value;
}

// What a link says of a choice; `otherwise` where it says nothing, or, with a sentence, nothing that there is.
function choice(link, name, choices, otherwise) {
    const said = link.get(name);
    if (said === null || choices.includes(said)) return said ?? otherwise;
    notice(`The link’s “${name}”, “${said.slice(0, 20)}”, is none of ${choices.join(', ')}.`);
    return otherwise;
}

// A whole number of a link or a field, within bounds; undefined, and a sentence, if it is none.
function wholeNumber(name, text, least, most) {
    const x = parseNumber(text);
    if (Number.isInteger(x) && x >= least && x <= most) return x;
    notice(`${name}: “${text.slice(0, 20)}” is no whole number from ${least} to ${most}; it stays as it was.`);
    return undefined;
}

// What a link says of a whole number; `otherwise` where it says nothing, or, with a sentence, nothing that there is.
const choiceOfNumber = (link, name, least, most, otherwise) =>
    (link.has(name) ? wholeNumber(`The link’s “${name}”`, link.get(name), least, most) : undefined) ?? otherwise;

// A share of attention, in a sentence.
const shareOf = (weight) => weight > 0 && weight < 0.01 ? 'less than 0.01' : fixed(weight, 2);

const headName = (block, head) => `layer ${block + 1}, head ${head + 1}`;
const POINT_AT_A_WEIGHT = 'Point at a weight, or go to it with the arrow keys.';

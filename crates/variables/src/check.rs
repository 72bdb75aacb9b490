//! Checks and normalizes what SET assigns.

use super::{Kind, VarDef};
use catalog::TableEngine;
use types::{Error, Result, Value};

/// Turns an assigned value into the variable's text: 1231 for a value it cannot have, 1232 for one of the wrong type.
/// The flag says that an integer was clamped into the variable's range (warning 1292).
pub fn normalize(def: &VarDef, value: &Value) -> Result<(Box<str>, bool)> {
    let wrong_type = || Error::wrong_type_for_var(def.name);
    let bad = |v: &str| Error::wrong_value_for_var(def.name, v);
    let text = match value {
        Value::Bytes(b) => Some(String::from_utf8_lossy(b).into_owned()),
        _ => None,
    };
    match &def.kind {
        Kind::Bool => match value {
            Value::Int(0) | Value::UInt(0) => Ok(("OFF".into(), false)),
            Value::Int(1) | Value::UInt(1) => Ok(("ON".into(), false)),
            Value::Int(v) => Err(bad(&v.to_string())),
            Value::UInt(v) => Err(bad(&v.to_string())),
            Value::Null => Err(bad("NULL")),
            _ => match text.ok_or_else(wrong_type)? {
                t if t.eq_ignore_ascii_case("on") || t.eq_ignore_ascii_case("true") => Ok(("ON".into(), false)),
                t if t.eq_ignore_ascii_case("off") || t.eq_ignore_ascii_case("false") => Ok(("OFF".into(), false)),
                t => Err(bad(&t)),
            },
        },
        Kind::Int { min, max } => {
            let v: i128 = match value {
                Value::Int(v) => *v as i128,
                Value::UInt(v) => *v as i128,
                Value::Null => return Err(wrong_type()),
                _ => return Err(wrong_type()),
            };
            // A default outside of the range has a meaning of its own.
            let is_default = def.default.parse() == Ok(v);
            let clamped = if is_default { v } else { v.clamp(*min, *max) };
            Ok((clamped.to_string().into(), clamped != v))
        }
        Kind::Double { min, max } => {
            let v = match value {
                Value::Int(v) => *v as f64,
                Value::UInt(v) => *v as f64,
                Value::Double(v) => *v,
                Value::Decimal(d) => d.to_f64(),
                _ => return Err(wrong_type()),
            };
            let clamped = v.clamp(*min, *max);
            if clamped != v && def.name == "timestamp" {
                return Err(bad(&v.to_string()));
            }
            Ok((format!("{clamped:.6}").into(), clamped != v))
        }
        Kind::Enum(names) => {
            let by_index = |i: usize| names.get(i).map(|n| Box::<str>::from(*n)).ok_or_else(|| bad(&i.to_string()));
            match value {
                Value::Int(v) => Ok((by_index(usize::try_from(*v).map_err(|_| bad(&v.to_string()))?)?, false)),
                Value::UInt(v) => Ok((by_index(*v as usize)?, false)),
                Value::Null => Err(bad("NULL")),
                _ => {
                    let t = text.ok_or_else(wrong_type)?;
                    if let Some(name) = names.iter().find(|n| n.eq_ignore_ascii_case(&t)) {
                        return Ok(((*name).into(), false));
                    }
                    match def.name {
                        "default_storage_engine" | "default_tmp_storage_engine" | "storage_engine" => {
                            let (engine, stood_for) = TableEngine::named(&t)?;
                            Ok((engine.name().into(), stood_for.is_some()))
                        }
                        _ => Err(bad(&t)),
                    }
                }
            }
        }
        Kind::Set(names) => {
            let t = match value {
                Value::Bytes(_) => text.expect("bytes have text"),
                Value::Int(v) => return set_from_bits(def, names, *v as u64),
                Value::UInt(v) => return set_from_bits(def, names, *v),
                Value::Null => return Err(bad("NULL")),
                _ => return Err(wrong_type()),
            };
            let mut on = vec![false; names.len()];
            for word in t.split(',').map(str::trim).filter(|w| !w.is_empty()) {
                let i = names.iter().position(|n| n.eq_ignore_ascii_case(word)).ok_or_else(|| bad(word))?;
                on[i] = true;
            }
            let list: Vec<&str> = names.iter().zip(on).filter(|(_, on)| *on).map(|(n, _)| *n).collect();
            Ok((list.join(",").into(), false))
        }
        Kind::Locale => match value {
            Value::Bytes(_) => {
                let name = text.ok_or_else(wrong_type)?;
                let found = types::locale::find(&name).ok_or_else(|| Error::unknown_locale(&name))?;
                Ok((found.name.into(), false))
            }
            Value::Null => Err(bad("NULL")),
            _ => Err(wrong_type()),
        },
        Kind::Text => match value {
            Value::Null => Ok((super::NULL_TEXT.into(), false)),
            Value::Int(v) => Ok((v.to_string().into(), false)),
            Value::UInt(v) => Ok((v.to_string().into(), false)),
            _ => Ok((text.ok_or_else(wrong_type)?.into(), false)),
        },
    }
}

fn set_from_bits(def: &VarDef, names: &[&str], bits: u64) -> Result<(Box<str>, bool)> {
    if names.len() < 64 && bits >> names.len() != 0 {
        return Err(Error::wrong_value_for_var(def.name, bits));
    }
    let list: Vec<&str> = names.iter().enumerate().filter(|(i, _)| bits >> i & 1 != 0).map(|(_, n)| *n).collect();
    Ok((list.join(",").into(), false))
}

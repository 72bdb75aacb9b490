//! Literals, variables, parameters, casts and functions.

use super::api::{Bind, ParamInfo};
use expr::{Expr, ExprKind, TrimSide, build};
use parser::ast;
use types::{Charset, Collation, Error, Result, SqlType, StringKind};

impl<'a> Bind<'a, '_, '_> {
    pub fn literal(&mut self, l: &ast::Literal) -> Result<Expr> {
        use ast::Literal as L;
        Ok(match l {
            L::Null => build::null(),
            L::Bool(b) => build::boolean(*b),
            L::Int(v) => build::integer(*v),
            L::Decimal(text) => build::decimal(text)?,
            L::Float(v) => build::double(*v),
            // Applications put bytes between quotes, escaped, for BLOBs; what is no text is a byte string.
            L::Str(bytes) if std::str::from_utf8(bytes).is_err() => build::string(bytes, Collation::Binary),
            L::Str(bytes) => build::string(bytes, self.shared.session.collation_connection),
            L::Introduced(i) => introduced(i)?,
            L::Hex(bytes) => build::hex(bytes),
            L::Bit(bytes) => build::bit(bytes),
            L::Temporal(kind, text) => build::temporal(text, temporal_type(*kind))?,
        })
    }

    pub fn param(&mut self, n: u32) -> Result<Expr> {
        self.note_variable();
        match self.shared.params {
            ParamInfo::Values(values) => {
                self.shared.cacheable = false;
                let (value, ty) = values.get(n as usize).ok_or_else(|| Error::wrong_arguments("EXECUTE"))?;
                let ty = if value.is_null() { SqlType::Null } else { *ty };
                Ok(Expr::constant(value.clone(), ty))
            }
            ParamInfo::Types(types) => {
                self.shared.param_count = self.shared.param_count.max(n + 1);
                let text = || build::string_type(255, self.shared.session.collation_connection);
                let ty = types.get(n as usize).copied().unwrap_or_else(text);
                Ok(Expr::new(ExprKind::Param(n), ty, true))
            }
        }
    }

    pub fn user_variable(&mut self, name: &ast::Ident) -> Expr {
        let assigned = self.shared.assigned.get(&name.to_lowercase()).copied();
        let text = SqlType::String {
            kind: StringKind::LongText,
            len: u32::MAX / 4,
            collation: self.shared.session.collation_connection,
        };
        self.shared.cacheable = false;
        self.shared.reads_variables = true;
        self.note_variable();
        let ty = assigned.or_else(|| self.shared.variables.user_variable_type(name));
        let ty = ty.filter(|t| *t != SqlType::Null).unwrap_or(text);
        Expr::new(ExprKind::UserVar { name: name.0.clone(), is_fixed: false }, ty, true)
    }

    pub fn assign(&mut self, name: &ast::Ident, value: &'a ast::Expr) -> Result<Expr> {
        let value = self.expr(value)?;
        let value = build::all_digits(&value).unwrap_or(value);
        self.note_variable();
        self.shared.serial = true;
        let (ty, nullable) = (value.ty, value.nullable);
        self.shared.assigned.insert(name.to_lowercase(), ty);
        Ok(Expr::new(ExprKind::SetUserVar { name: name.0.clone(), expr: Box::new(value) }, ty, nullable))
    }

    pub fn system_variable(&mut self, v: &ast::SysVar) -> Result<Expr> {
        let name = match &v.component {
            Some(c) => format!("{}.{}", &**c, &*v.name),
            None => v.name.to_string(),
        };
        self.shared.cacheable = false;
        self.note_variable();
        let (value, ty) = self.shared.variables.get(&name, v.scope)?;
        Ok(Expr::constant(value, ty))
    }

    /// Everything that looks like a call.
    pub fn call(&mut self, e: &'a ast::Expr) -> Result<Expr> {
        use ast::ExprKind as K;
        let session = self.shared.session.clone();
        match &e.kind {
            K::Cast(c) => self.cast(c),
            K::ConvertUsing(c) => {
                let x = self.expr(&c.0)?;
                build::convert_using(x, charset_collation(&c.1)?)
            }
            K::Collate(c) => {
                let x = self.expr(&c.0)?;
                build::collate(x, Collation::from_name(&c.1)?, session.collation_connection)
            }
            K::DateArith(d) => {
                let (date, value) = (self.expr(&d.date)?, self.expr(&d.value)?);
                build::date_add(date, value, d.unit, d.subtract, session.collation_connection)
            }
            K::Function(f) => self.function(f),
            K::Aggregate(a) => self.aggregate(a),
            K::Window(w) => self.window_function(w),
            K::Extract(u, x) => {
                let x = self.expr(x)?;
                build::extract(*u, x)
            }
            K::TimestampDiff(t) => {
                let (from, to) = (self.expr(&t.1)?, self.expr(&t.2)?);
                build::timestamp_diff(t.0, from, to)
            }
            K::Trim(t) => {
                let what = t.what.as_ref().map(|w| self.expr(w)).transpose()?;
                let x = self.expr(&t.expr)?;
                let side = match t.side {
                    ast::TrimSide::Both => TrimSide::Both,
                    ast::TrimSide::Leading => TrimSide::Leading,
                    ast::TrimSide::Trailing => TrimSide::Trailing,
                };
                build::trim(x, side, what, session.collation_connection)
            }
            K::CharUsing(c) => {
                let args = c.0.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
                let bytes = build::function("char", args, &session)?;
                build::convert_using(bytes, charset_collation(&c.1)?)
            }
            K::WeightString(w) => {
                if w.cast.is_some() {
                    return Err(Error::not_supported("WEIGHT_STRING(.. AS ..)"));
                }
                let x = self.expr(&w.expr)?;
                build::function("weight_string", vec![x], &session)
            }
            K::Match(_) => Err(Error::not_supported("MATCH .. AGAINST")),
            K::GetFormat(kind, x) => self.get_format(*kind, x),
            K::JsonValue(_) => Err(Error::not_supported("JSON_VALUE")),
            _ => Err(Error::internal("an expression without a binding")),
        }
    }

    fn function(&mut self, f: &'a ast::FunctionCall) -> Result<Expr> {
        if let Some(schema) = &f.schema {
            let name = format!("{}.{}", &**schema, &*f.name);
            return Err(Error::sp_does_not_exist("FUNCTION", name));
        }
        match &*f.name.to_ascii_lowercase() {
            "any_value" => return self.any_value(&f.args),
            "grouping" => return self.grouping(&f.args),
            _ => {}
        }
        let args = f.args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
        let call = build::function(&f.name, args, &self.shared.session)?;
        self.shared.serial |= match &call.kind {
            ExprKind::Call { function, .. } => function.record().is_serial(),
            // LAST_INSERT_ID(x)
            ExprKind::SetUserVar { .. } => true,
            _ => false,
        };
        Ok(call)
    }

    fn cast(&mut self, c: &'a ast::Cast) -> Result<Expr> {
        if c.array {
            return Err(Error::not_supported("CAST(.. AS .. ARRAY)"));
        }
        if c.at_time_zone.is_some() {
            return Err(Error::not_supported("AT TIME ZONE"));
        }
        let x = self.expr(&c.expr)?;
        let fsp = |fsp: &Option<u32>, name: &str| match fsp.unwrap_or(0) {
            n @ 0..=6 => Ok(n as u8),
            n => Err(Error::too_big_precision(n, name, 6)),
        };
        let ty = match &c.target {
            ast::CastType::Signed => SqlType::BIGINT,
            ast::CastType::Unsigned => SqlType::BIGINT_UNSIGNED,
            ast::CastType::Decimal { precision, scale } => decimal_target(*precision, *scale)?,
            ast::CastType::Float => SqlType::Float,

            ast::CastType::Double => SqlType::Double,
            ast::CastType::Date => SqlType::Date,
            ast::CastType::Time { fsp: n } => SqlType::Time { fsp: fsp(n, "CAST")? },
            ast::CastType::DateTime { fsp: n } => SqlType::DateTime { fsp: fsp(n, "CAST")? },
            ast::CastType::Year => SqlType::Year,
            ast::CastType::Char { len, charset } => {
                let collation = charset.as_ref().map(|c| charset_collation(c)).transpose()?;
                return build::cast_char(x, *len, collation.unwrap_or(self.shared.session.collation_connection));
            }
            ast::CastType::Binary { len } => return build::cast_char(x, *len, Collation::Binary),
            ast::CastType::Json => return Err(Error::not_supported("CAST(.. AS JSON)")),
            ast::CastType::Geometry(_) => return Err(Error::not_supported("CAST to a spatial type")),
        };
        build::cast(x, ty, true)
    }

    fn get_format(&mut self, kind: ast::TemporalKind, x: &'a ast::Expr) -> Result<Expr> {
        use ast::TemporalKind as T;
        let region = self.expr(x)?;
        let Some(types::Value::Bytes(b)) = region.as_const() else {
            let kind = match kind {
                T::Date => "DATE",
                T::Time => "TIME",
                T::DateTime => "DATETIME",
            };
            let kind = build::string(kind.as_bytes(), Collation::default());
            return build::function("get_format", vec![kind, region], &self.shared.session);
        };
        let region = String::from_utf8_lossy(b).to_ascii_uppercase();
        let format = match (kind, region.as_str()) {
            (T::Date, "USA") => "%m.%d.%Y",
            (T::Date, "JIS" | "ISO") => "%Y-%m-%d",
            (T::Date, "EUR") => "%d.%m.%Y",
            (T::Date, "INTERNAL") => "%Y%m%d",
            (T::DateTime, "USA" | "EUR") => "%Y-%m-%d %H.%i.%s",
            (T::DateTime, "JIS" | "ISO") => "%Y-%m-%d %H:%i:%s",
            (T::DateTime, "INTERNAL") => "%Y%m%d%H%i%s",
            (T::Time, "USA") => "%h:%i:%s %p",
            (T::Time, "JIS" | "ISO") => "%H:%i:%s",
            (T::Time, "EUR") => "%H.%i.%s",
            (T::Time, "INTERNAL") => "%H%i%s",
            _ => return Ok(build::null()),
        };
        Ok(build::string(format.as_bytes(), self.shared.session.collation_connection))
    }
}

fn decimal_target(precision: Option<u32>, scale: Option<u32>) -> Result<SqlType> {
    let (p, s) = (precision.unwrap_or(10), scale.unwrap_or(0));
    if s > 30 {
        return Err(Error::too_big_scale(s, "CAST", 30));
    }
    if p > 65 {
        return Err(Error::too_big_precision(p, "CAST", 65));
    }
    let p = if p == 0 { 10.max(s) } else { p };
    if p < s {
        return Err(Error::m_bigger_than_d("CAST"));
    }
    Ok(SqlType::Decimal { precision: p as u8, scale: s as u8 })
}

fn temporal_type(kind: ast::TemporalKind) -> SqlType {
    match kind {
        ast::TemporalKind::Date => SqlType::Date,
        ast::TemporalKind::Time => SqlType::Time { fsp: 0 },
        ast::TemporalKind::DateTime => SqlType::DateTime { fsp: 0 },
    }
}

/// The default collation of a character set: 1115 if there is none of that name.
pub fn charset_collation(name: &str) -> Result<Collation> {
    Charset::from_name(name).map(|c| c.default_collation())
}

/// `_charset'..'`: bytes of that character set, kept as UTF-8.
fn introduced(i: &ast::Introduced) -> Result<Expr> {
    let collation = charset_collation(&i.charset)?;
    match collation {
        Collation::Binary => Ok(build::string(&i.value, collation)),
        Collation::Latin1SwedishCi | Collation::Latin1Bin => {
            // Quoted text reached us in the connection's UTF-8; hexadecimal digits are bytes of the character set.
            let text = match i.form {
                ast::IntroducedForm::Hex | ast::IntroducedForm::Bit => i.value.iter().map(|&b| b as char).collect(),
                _ => String::from_utf8_lossy(&i.value).into_owned(),
            };
            Ok(build::string(text.as_bytes(), collation))
        }
        _ => {
            if std::str::from_utf8(&i.value).is_err() {
                return Err(Error::invalid_character_string(&*i.charset, i.value.escape_ascii()));
            }
            Ok(build::string(&i.value, collation))
        }
    }
}
